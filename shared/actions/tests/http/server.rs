//! A server that sends the bytes that a test chooses, and remembers the requests.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rustls::ServerConfig;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// A received request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
    /// The number of its connection, from 0.
    pub(crate) connection: usize,
    /// The certificate of the client.
    pub(crate) peer: Option<Vec<u8>>,
}

impl Seen {
    pub(crate) fn path(&self) -> &str {
        self.line.split(' ').nth(1).unwrap()
    }

    /// All values of a header, joined by commas.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let of_name = |(known, _): &&(String, String)| known.eq_ignore_ascii_case(name);
        let values: Vec<_> =
            self.headers.iter().filter(of_name).map(|(_, value)| value.as_str()).collect();
        (!values.is_empty()).then(|| values.join(", "))
    }
}

/// The answer to a request.
pub(crate) enum Reply {
    /// These bytes; then the connection waits for the next request.
    Keep(String),
    /// These bytes; then the connection is closed.
    Close(String),
    /// These bytes; then nothing more, and the connection stays open.
    Stall(String),
    /// These pieces, each in a packet of its own; then the connection waits for the next request.
    Pieces(Vec<String>),
    /// The first bytes once, then the second again and again.
    Endless(String, String),
}

/// An answer with a body.
pub(crate) fn reply(status: &str, headers: &str, body: &str) -> Reply {
    let length = body.len();
    Reply::Keep(format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{headers}\r\n{body}"))
}

pub(crate) fn ok(body: &str) -> Reply {
    reply("200 OK", "", body)
}

/// A redirect.
pub(crate) fn redirect(status: &str, location: &str) -> Reply {
    reply(status, &format!("Location: {location}\r\n"), "moved")
}

/// So often other tasks may run between two pieces.
const TURNS: usize = 100;

type Handler = Arc<dyn Fn(&Seen) -> Reply + Send + Sync>;

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    n_connections: Arc<AtomicUsize>,
}

impl Server {
    pub(crate) async fn start(handler: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        Self::start_at("127.0.0.1:0", None, handler).await
    }

    pub(crate) async fn start_tls(
        config: ServerConfig,
        handler: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::start_at("127.0.0.1:0", Some(config), handler).await
    }

    pub(crate) async fn start_at(
        address: &str,
        tls: Option<ServerConfig>,
        handler: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            seen: Arc::default(),
            n_connections: Arc::default(),
        };
        let (seen, n_connections) = (Arc::clone(&server.seen), Arc::clone(&server.n_connections));
        let handler: Handler = Arc::new(handler);
        let acceptor = tls.map(|config| TlsAcceptor::from(Arc::new(config)));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let connection = n_connections.fetch_add(1, Ordering::SeqCst);
                let (seen, handler) = (Arc::clone(&seen), Arc::clone(&handler));
                let first = Seen { connection, ..Seen::default() };
                tokio::spawn(serve(stream, acceptor.clone(), first, seen, handler));
            }
        });
        server
    }

    /// A URL with the server's address.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// A URL with a name as its host.
    pub(crate) fn url_by(&self, scheme: &str, name: &str, path: &str) -> String {
        format!("{scheme}://{name}:{}{path}", self.address.port())
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// The request, if there is exactly one.
    #[track_caller]
    pub(crate) fn only(&self) -> Seen {
        let seen = self.seen();
        assert_eq!(seen.len(), 1, "{seen:?}");
        seen.into_iter().next().unwrap()
    }

    pub(crate) fn n_connections(&self) -> usize {
        self.n_connections.load(Ordering::SeqCst)
    }
}

async fn serve(
    stream: TcpStream,
    acceptor: Option<TlsAcceptor>,
    mut first: Seen,
    seen: Arc<Mutex<Vec<Seen>>>,
    handler: Handler,
) {
    let Some(acceptor) = acceptor else {
        return talk(stream, first, seen, handler).await;
    };
    let Ok(stream) = acceptor.accept(stream).await else { return };
    let peer = stream.get_ref().1.peer_certificates();
    first.peer = peer.and_then(|chain| chain.first()).map(|certificate| certificate.to_vec());
    talk(stream, first, seen, handler).await;
}

async fn talk(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    first: Seen,
    all: Arc<Mutex<Vec<Seen>>>,
    handler: Handler,
) {
    let mut stream = BufReader::new(stream);
    while let Some(seen) = read(&mut stream, first.clone()).await {
        let reply = handler(&seen);
        all.lock().unwrap().push(seen);
        let written = match &reply {
            Reply::Keep(text) | Reply::Close(text) | Reply::Stall(text) => {
                stream.write_all(text.as_bytes()).await
            }
            Reply::Endless(text, _) => stream.write_all(text.as_bytes()).await,
            Reply::Pieces(pieces) => write_pieces(&mut stream, pieces).await,
        };
        if written.is_err() || stream.flush().await.is_err() {
            return;
        }
        match reply {
            Reply::Keep(_) | Reply::Pieces(_) => {}
            Reply::Close(_) => {
                let _ = stream.shutdown().await;
                return;
            }
            Reply::Stall(_) => std::future::pending().await,
            Reply::Endless(_, more) => {
                while stream.write_all(more.as_bytes()).await.is_ok() {}
                return;
            }
        }
    }
}

/// Writes each piece after the client has had its turn to read the one before.
async fn write_pieces(
    stream: &mut (impl AsyncWrite + Unpin),
    pieces: &[String],
) -> std::io::Result<()> {
    for piece in pieces {
        stream.write_all(piece.as_bytes()).await?;
        stream.flush().await?;
        for _ in 0..TURNS {
            tokio::task::yield_now().await;
        }
    }
    Ok(())
}

async fn read(stream: &mut BufReader<impl AsyncRead + Unpin>, first: Seen) -> Option<Seen> {
    let mut seen = Seen { line: line(stream).await?, ..first };
    loop {
        let line = line(stream).await?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(": ").unwrap();
        seen.headers.push((name.to_owned(), value.to_owned()));
    }
    let length = seen.header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    seen.body = String::from_utf8(body).unwrap();
    Some(seen)
}

async fn line(stream: &mut BufReader<impl AsyncRead + Unpin>) -> Option<String> {
    let mut line = String::new();
    match stream.read_line(&mut line).await {
        Ok(n) if n > 0 => Some(line.trim_end_matches("\r\n").to_owned()),
        _ => None,
    }
}
