//! The target of jobs: a server on loopback that answers with a status. A test can hold the answer
//! back.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, Condvar, Mutex};

/// A server that runs until it is dropped.
pub(super) struct Target {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    status: AtomicU16,
    body: Mutex<String>,
    heads: Mutex<Vec<String>>,
    is_held: Mutex<bool>,
    let_go: Condvar,
    ended: AtomicBool,
}

impl Target {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            status: AtomicU16::new(200),
            body: Mutex::default(),
            heads: Mutex::default(),
            is_held: Mutex::new(false),
            let_go: Condvar::new(),
            ended: AtomicBool::new(false),
        });
        let theirs = shared.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if theirs.ended.load(Ordering::Acquire) {
                    return;
                }
                let shared = theirs.clone();
                std::thread::spawn(move || serve(&shared, stream.unwrap()));
            }
        });
        Self { address, shared }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// The status of all further answers.
    pub(super) fn answer(&self, status: u16) {
        self.shared.status.store(status, Ordering::Release);
    }

    /// The body of all further answers.
    pub(super) fn say(&self, body: &str) {
        body.clone_into(&mut self.shared.body.lock().unwrap());
    }

    /// Lets all requests wait, or answers them.
    pub(super) fn hold(&self, is_held: bool) {
        *self.shared.is_held.lock().unwrap() = is_held;
        self.shared.let_go.notify_all();
    }

    /// The heads of the requests so far.
    pub(super) fn heads(&self) -> Vec<String> {
        self.shared.heads.lock().unwrap().clone()
    }

    pub(super) fn calls(&self) -> usize {
        self.shared.heads.lock().unwrap().len()
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Release);
        self.hold(false);
        // Who accepts finds that it is over.
        drop(TcpStream::connect(self.address));
    }
}

fn serve(shared: &Shared, mut stream: TcpStream) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let mut request = String::new();
    loop {
        match lines.next() {
            Some(Ok(line)) if line.is_empty() => break,
            Some(Ok(line)) => request.extend([line.as_str(), "\n"]),
            Some(Err(_)) | None => return,
        }
    }
    shared.heads.lock().unwrap().push(request);
    let held = shared.is_held.lock().unwrap();
    drop(shared.let_go.wait_while(held, |is_held| *is_held).unwrap());
    let status = shared.status.load(Ordering::Acquire);
    let body = shared.body.lock().unwrap().clone();
    let framing = format!("content-length: {}\r\nconnection: close", body.len());
    // Who called may have gone.
    let _ = write!(stream, "HTTP/1.1 {status} X\r\n{framing}\r\n\r\n{body}");
}
