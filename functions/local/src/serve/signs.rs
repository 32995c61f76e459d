//! The signs of the API of this process, from which it is known when pings could be taken: one every ten seconds, and
//! one at once after another process has begun.

use std::sync::Arc;

use minutehand_app::ApiPresence;
use minutehand_app::fire::Stop;
use minutehand_domain::presence::{DOUBTS_EVERY, SIGN_EVERY};
use minutehand_ports::{Clock, chain};

/// Gives signs until the API stops, and says that it does. A sign that fails is given the next time.
pub(super) async fn sign(presence: Arc<ApiPresence>, clock: Arc<dyn Clock>, stop: Stop) {
    let every = DOUBTS_EVERY.to_std().unwrap_or_default();
    let looks = SIGN_EVERY.num_seconds() / DOUBTS_EVERY.num_seconds();
    let signs = async {
        loop {
            for _ in 1..looks {
                clock.wait(every).await;
                // The next sign says louder what fails.
                if let Err(error) = presence.answer_doubts().await {
                    tracing::debug!(error = chain(&error), "cannot see whether the API is doubted");
                }
            }
            clock.wait(every).await;
            log(presence.sign().await);
        }
    };
    tokio::select! {
        () = stop.requested() => {}
        () = signs => {}
    }
    log(presence.end().await);
}

fn log(given: Result<(), minutehand_app::AppError>) {
    if let Err(error) = given {
        tracing::warn!(error = chain(&error), "the API could not give a sign");
    }
}
