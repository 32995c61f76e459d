//! A server of HTTP/1.1 on this machine, as small as can be: a thread for each connection, a function for
//! all requests. It lives as long as the process.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

pub(crate) struct Request {
    pub(crate) path: String,
    /// What stands behind the last point of `x-amz-target`.
    pub(crate) action: String,
    pub(crate) body: Vec<u8>,
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: String,
    pub(crate) body: String,
}

impl From<String> for Answer {
    fn from(body: String) -> Self {
        Self { status: 200, headers: String::new(), body }
    }
}

/// Serves on loopback.
pub(crate) fn serve(answer: impl Fn(Request) -> Answer + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("there is a port");
    let address = listener.local_addr().expect("it has an address");
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = answer.clone();
            std::thread::spawn(move || connection(stream, answer.as_ref()));
        }
    });
    address
}

fn connection(mut stream: TcpStream, answer: &dyn Fn(Request) -> Answer) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let path = line.split(' ').nth(1)?.to_owned();
        let (mut length, mut is_chunked, mut action) = (0, false, String::new());
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.trim().parse().ok()?,
                "transfer-encoding" => is_chunked = true,
                "x-amz-target" => {
                    value.rsplit('.').next()?.trim().clone_into(&mut action);
                }
                _ => {}
            }
        }
        let body = if is_chunked { chunks(&mut reader)? } else { exactly(&mut reader, length)? };
        let Answer { status, headers, body } = answer(Request { path, action, body });
        let length = body.len();
        let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\n{headers}\r\n");
        stream.write_all([head.as_bytes(), body.as_bytes()].concat().as_slice()).ok()?;
    }
}

fn exactly(reader: &mut impl Read, length: usize) -> Option<Vec<u8>> {
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(body)
}

fn chunks(reader: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let length = usize::from_str_radix(line.trim_end(), 16).ok()?;
        body.extend(exactly(reader, length)?);
        exactly(reader, 2)?;
        if length == 0 {
            return Some(body);
        }
    }
}
