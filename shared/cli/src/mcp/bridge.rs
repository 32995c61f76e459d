//! Standard input and output as streams.
//!
//! Each is read or written by a thread of its own, which ends with the process: a read of standard
//! input cannot be interrupted.

use std::io::{self, Read as _, Write as _};
use std::thread::JoinHandle;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::runtime::Handle;

/// How much waits between a thread and the stream.
const BUFFER_BYTES: usize = 64 * 1024;

/// Standard input, standard output, and the thread that ends when all output is written.
pub(super) fn standard() -> (DuplexStream, DuplexStream, JoinHandle<()>) {
    let handle = Handle::current();
    let (mut into_input, input) = tokio::io::duplex(BUFFER_BYTES);
    std::thread::spawn({
        let handle = handle.clone();
        move || {
            let mut buffer = vec![0; BUFFER_BYTES];
            let mut standard = io::stdin().lock();
            while let Ok(length @ 1..) = standard.read(&mut buffer) {
                let Some(read) = buffer.get(..length) else { break };
                if handle.block_on(into_input.write_all(read)).is_err() {
                    break;
                }
            }
        }
    });
    let (output, mut from_output) = tokio::io::duplex(BUFFER_BYTES);
    let written = std::thread::spawn(move || {
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut standard = io::stdout().lock();
        while let Ok(length @ 1..) = handle.block_on(from_output.read(&mut buffer)) {
            let Some(written) = buffer.get(..length) else { break };
            if standard.write_all(written).and_then(|()| standard.flush()).is_err() {
                break;
            }
        }
    });
    (input, output, written)
}
