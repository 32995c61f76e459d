//! Waiting between two looks at a server.

use std::time::Duration;

/// Waits. Ctrl-C ends the process, so nothing has to end the wait.
#[expect(clippy::disallowed_methods, reason = "a server gives no signal when something ends")]
pub(crate) async fn pause(length: Duration) {
    tokio::time::sleep(length).await;
}
