//! Services that answer some calls that they have too many.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::json;

use crate::http::{self, Answer, Request};

/// One of so many calls is refused where some are.
pub(crate) const ONE_IN: u32 = 10;

/// Which calls are refused.
#[derive(Default)]
pub(crate) struct Throttle {
    /// One of so many calls; none if it is zero.
    one_in: AtomicU32,
    calls: AtomicU32,
    refused: AtomicU32,
}

impl Throttle {
    pub(crate) fn refuse(&self, one_in: u32) {
        self.one_in.store(one_in, Ordering::Relaxed);
    }

    /// How many calls were refused since the last time.
    pub(crate) fn take_refused(&self) -> u32 {
        self.refused.swap(0, Ordering::Relaxed)
    }

    /// The answer to a call that is refused.
    pub(crate) fn answer(&self, action: &str) -> Option<Answer> {
        let one_in = self.one_in.load(Ordering::Relaxed);
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        if one_in == 0 || !call.is_multiple_of(one_in) {
            return None;
        }
        self.refused.fetch_add(1, Ordering::Relaxed);
        let name = if action == "SendMessageBatch" {
            "com.amazonaws.sqs#RequestThrottled"
        } else {
            "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"
        };
        let body = json!({"__type": name, "message": "there are too many"}).to_string();
        Some(Answer { status: 400, ..Answer::from(body) })
    }
}

/// Stands before a table. What is not refused is the table's.
pub(crate) fn before(table: SocketAddr, throttle: Arc<Throttle>) -> SocketAddr {
    http::serve(move |request| {
        let refused = throttle.answer(&request.action);
        refused.unwrap_or_else(|| forward(table, &request).expect("the table answers"))
    })
}

/// The table looks at no signature, and refuses a request without one.
fn forward(table: SocketAddr, request: &Request) -> Option<Answer> {
    let mut stream = TcpStream::connect(table).ok()?;
    let head = format!(
        "POST / HTTP/1.1\r\nhost: {table}\r\nx-amz-target: DynamoDB_20120810.{}\r\n\
         content-type: application/x-amz-json-1.0\r\nx-amz-date: 20260101T000000Z\r\n\
         authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260101/eu-west-1/dynamodb/aws4_request, \
         SignedHeaders=host, Signature=0\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        request.action,
        request.body.len(),
    );
    stream.write_all(&[head.as_bytes(), &request.body].concat()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Answer { status, ..Answer::from(body.to_owned()) })
}
