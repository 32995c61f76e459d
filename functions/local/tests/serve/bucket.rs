//! A service with one bucket, in the process of a test. It answers as it is told to.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// The path of the mark of the archive `s3://bucket/a`.
const MARK: &str = "/bucket/a/minutehand.json";

/// An answer in the place of the right one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bad {
    status: &'static str,
    body: &'static str,
    /// Only for the mark, and not for all objects.
    is_of_mark: bool,
    /// What `/healthz` says.
    pub(crate) says: &'static str,
}

/// Answers that keep an archive from being written.
pub(crate) const BAD: [Bad; 6] = [
    Bad {
        status: "403 Forbidden",
        body: "<Error><Code>AccessDenied</Code></Error>",
        is_of_mark: false,
        says: "access is denied",
    },
    Bad {
        status: "400 Bad Request",
        body: "<Error><Code>ExpiredToken</Code></Error>",
        is_of_mark: false,
        says: "access is denied",
    },
    Bad {
        status: "404 Not Found",
        body: "<Error><Code>NoSuchBucket</Code></Error>",
        is_of_mark: false,
        says: "the bucket does not exist",
    },
    Bad {
        status: "404 Not Found",
        body: "<Error><Code>NoSuchKey</Code></Error>",
        is_of_mark: false,
        says: "it has no file minutehand.json",
    },
    Bad {
        status: "200 OK",
        body: "<html>Maintenance</html>",
        is_of_mark: false,
        says: "its file minutehand.json cannot be read",
    },
    Bad {
        status: "200 OK",
        body: r#"{"format":1,"#,
        is_of_mark: true,
        says: "its file minutehand.json cannot be read",
    },
];

/// The service, which is a target for jobs, too. It lives as long as the process of the test.
pub(crate) struct Service {
    pub(crate) address: SocketAddr,
    objects: Arc<Mutex<BTreeMap<String, String>>>,
    bad: Arc<Mutex<Option<Bad>>>,
}

impl Service {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (objects, bad) = (Arc::default(), Arc::default());
        let service = Self { address, objects, bad };
        let (objects, bad) = (service.objects.clone(), service.bad.clone());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (objects, bad) = (objects.clone(), bad.clone());
                thread::spawn(move || answer(stream.unwrap(), &objects, &bad));
            }
        });
        service
    }

    /// The variables that lead to the bucket.
    pub(crate) fn variables(&self) -> [(&'static str, String); 3] {
        [
            ("AWS_ENDPOINT_URL_S3", format!("http://{}", self.address)),
            ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "hunter2".to_owned()),
        ]
    }

    /// From now on it answers this; `None` for what is right.
    pub(crate) fn is_bad(&self, bad: impl Into<Option<Bad>>) {
        *self.bad.lock().unwrap() = bad.into();
    }
}

fn answer(
    mut stream: TcpStream,
    objects: &Mutex<BTreeMap<String, String>>,
    bad: &Mutex<Option<Bad>>,
) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap() > 0 {}
    let head = head.to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    reader.read_exact(&mut body).unwrap();
    let mut words = head.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut objects = objects.lock().unwrap();
    let bad = bad.lock().unwrap().filter(|bad| !bad.is_of_mark || path == MARK);
    let (status, body) = match (method, bad) {
        _ if path == "/target" => ("200 OK", String::new()),
        (_, Some(bad)) => (bad.status, bad.body.to_owned()),
        ("get", _) if query.contains("list-type=2") => ("200 OK", list(&objects, query)),
        ("get", _) => match objects.get(path) {
            Some(body) => ("200 OK", body.clone()),
            None => ("404 Not Found", "<Error><Code>NoSuchKey</Code></Error>".to_owned()),
        },
        ("put", _) if head.contains("if-none-match: *") && objects.contains_key(path) => {
            ("412 Precondition Failed", String::new())
        }
        ("put", _) => {
            objects.insert(path.to_owned(), String::from_utf8_lossy(&body).into_owned());
            ("200 OK", String::new())
        }
        _ => {
            objects.remove(path);
            ("204 No Content", String::new())
        }
    };
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
    // The server may be killed meanwhile.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
}

fn list(objects: &BTreeMap<String, String>, query: &str) -> String {
    let (_, prefix) = query.split_once("prefix=").unwrap();
    let prefix = prefix.replace("%2f", "/");
    let inside = objects.keys().filter_map(|key| key.strip_prefix("/bucket/"));
    let found = inside.filter_map(|key| Some((key, key.strip_prefix(&prefix)?)));
    let found = found.map(|(key, name)| match name.split_once('/') {
        Some((folder, _)) => {
            format!("<CommonPrefixes><Prefix>{prefix}{folder}/</Prefix></CommonPrefixes>")
        }
        None => format!("<Contents><Key>{key}</Key></Contents>"),
    });
    format!("<R>{}</R>", found.collect::<String>())
}
