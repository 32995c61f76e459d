//! The line that tells a person who starts a server for the first time how to make a job.

use std::path::{Path, absolute};

use super::http::CERTIFICATE_FILE;
use super::secrets::TOKEN_FILE;
use super::settings::DATA_DIR;

/// The URL of `serve` with its defaults, which the commands for a server use if none is named.
pub const URL_DEFAULT: &str = "http://127.0.0.1:7070";

/// The command that makes a job on a server with this new data directory. Without more words, commands find
/// the token in the default directory below the one in which they are run.
pub(super) fn first_job(url: &str, dir: &Path, has_token: bool, is_self_signed: bool) -> String {
    let is_default = absolute(DATA_DIR).is_ok_and(|path| path == dir);
    command(url, dir, has_token && !is_default, is_self_signed)
}

fn command(url: &str, dir: &Path, names_token: bool, names_certificate: bool) -> String {
    let quoted = |file: &str| format!("'{}'", dir.join(file).display());
    let token = names_token.then(|| format!("MINUTEHAND_TOKEN=\"$(cat {})\" ", quoted(TOKEN_FILE)));
    let server = (url != URL_DEFAULT).then(|| format!(" --server {url}"));
    let ca = names_certificate.then(|| format!(" --ca {}", quoted(CERTIFICATE_FILE)));
    let [token, server, ca] = [token, server, ca].map(Option::unwrap_or_default);
    format!(
        "first job: {token}minutehand job create hello --every 1m --url https://example.com/{server}{ca}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_names_what_it_would_not_find_by_itself() {
        let dir = Path::new("/srv/mine");
        let job = "minutehand job create hello --every 1m --url https://example.com/";
        assert_eq!(command(URL_DEFAULT, dir, false, false), format!("first job: {job}"));
        assert_eq!(
            command("http://127.0.0.1:8080", dir, true, false),
            format!(
                "first job: MINUTEHAND_TOKEN=\"$(cat '/srv/mine/token')\" {job} --server http://127.0.0.1:8080"
            )
        );
        let secure = "https://127.0.0.1:7070";
        assert_eq!(
            command(secure, dir, false, true),
            format!("first job: {job} --server {secure} --ca '/srv/mine/tls-cert.pem'")
        );
    }
}
