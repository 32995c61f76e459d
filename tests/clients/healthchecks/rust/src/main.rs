//! Pings with the crate `healthchecks`: URL and UUID, then what to report. Prints whether each was taken.

use healthchecks::ping::get_client_with_url;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (url, uuid) = (arguments.next().unwrap(), arguments.next().unwrap());
    let client = get_client_with_url(&uuid, &url).unwrap();
    for step in arguments {
        let is_taken = match step.as_str() {
            "start" => client.start_timer(),
            "success" => client.report_success(),
            "fail" => client.report_failure(),
            _ => client.report_failure_with_logs(&step),
        };
        println!("{is_taken}");
    }
}
