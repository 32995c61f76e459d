//! A way to the server on which answers get lost when a test says so.

use std::io::{Read as _, Write as _, copy};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use minutehand_testkit::postgres::PostgresServer;

/// How the server's answers end once it has committed, or has nothing to commit.
const IDLE: &[u8] = b"Z\0\0\0\x05I";

/// It forwards connections until the test ends.
pub(crate) struct Way {
    address: String,
    loses: Arc<AtomicBool>,
}

impl Way {
    pub(crate) fn to(server: &PostgresServer) -> Self {
        let direct = server.address("127.0.0.1");
        let (before, after) = direct.split_once("127.0.0.1:").unwrap();
        let (port, rest) = after.split_once('/').unwrap();
        let port: u16 = port.parse().unwrap();
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let own = listener.local_addr().unwrap();
        let loses = Arc::new(AtomicBool::new(false));
        let losing = loses.clone();
        thread::spawn(move || {
            for client in listener.incoming() {
                let server = TcpStream::connect(("127.0.0.1", port));
                if let (Ok(client), Ok(server)) = (client, server) {
                    forward(&client, &server, &losing);
                }
            }
        });
        Self { address: format!("{before}{own}/{rest}"), loses }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// From now on, an answer does not arrive, and its connection breaks; or it is as before.
    pub(crate) fn loses_answers(&self, loses: bool) {
        self.loses.store(loses, Ordering::Release);
    }
}

fn forward(client: &TcpStream, server: &TcpStream, loses: &Arc<AtomicBool>) {
    let both = || (client.try_clone().unwrap(), server.try_clone().unwrap());
    let (mut from, mut to) = both();
    thread::spawn(move || {
        let _ = copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
    });
    let ((mut to, mut from), loses) = (both(), loses.clone());
    thread::spawn(move || {
        let mut bytes = [0; 8192];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            let answer = &bytes[..count];
            if loses.load(Ordering::Acquire) {
                // The server would give up what it has not committed when it finds the connection broken.
                if answer.ends_with(IDLE) {
                    break;
                }
            } else if to.write_all(answer).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
        let _ = from.shutdown(Shutdown::Both);
    });
}
