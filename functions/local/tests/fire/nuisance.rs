//! What may be in the way of others, for tests and for the bench: a name server that is silent, and a
//! target that does not come to its answer.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::path::Path;
use std::process::Command;

/// A target that answers `102 Processing` for ever.
pub(crate) fn endless_informational_answers() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                let _ = stream.read(&mut [0; 1_024]);
                let answers = "HTTP/1.1 102 Processing\r\n\r\n".repeat(1_000);
                while stream.write_all(answers.as_bytes()).is_ok() {}
            });
        }
    });
    address
}

/// A command whose arguments are run with a network and a file system of its own, where names are
/// asked of this machine. `None` if the user may not do that. The directory is for a file.
pub(crate) fn with_own_name_server(dir: &Path) -> Option<Command> {
    let servers = dir.join("resolv.conf");
    std::fs::write(&servers, "nameserver 127.0.0.1\n").ok()?;
    let mut command = Command::new("unshare");
    let script = "ip link set lo up; mount --bind \"$0\" /etc/resolv.conf; exec \"$@\"";
    command.args(["-n", "-m", "sh", "-ec", script]).arg(&servers);
    let mut works = Command::new("unshare");
    works.args(command.get_args()).arg("true");
    works.status().is_ok_and(|status| status.success()).then_some(command)
}

/// A name server: it knows that every name below `fast.test` is this machine, and is silent about
/// others.
pub(crate) fn serve_names() {
    const ADDRESS: u8 = 1;
    let socket = UdpSocket::bind("127.0.0.1:53").unwrap();
    std::thread::spawn(move || {
        let mut query = [0; 512];
        loop {
            let (length, from) = socket.recv_from(&mut query).unwrap();
            let query = &query[..length];
            // The name ends with an empty label; the type and the class of the question follow.
            let end = 12 + query[12..].iter().position(|byte| *byte == 0).unwrap() + 5;
            let question = &query[12..end];
            if !question.windows(9).any(|part| part == b"fast\x04test") {
                continue;
            }
            let has_answer = question[question.len() - 3] == ADDRESS;
            let mut answer = query[..2].to_vec();
            answer.extend([0x81, 0x80, 0, 1, 0, u8::from(has_answer), 0, 0, 0, 0]);
            answer.extend(question);
            if has_answer {
                answer.extend([0xc0, 12, 0, ADDRESS, 0, 1, 0, 0, 0, 1, 0, 4, 127, 0, 0, 1]);
            }
            socket.send_to(&answer, from).unwrap();
        }
    });
}
