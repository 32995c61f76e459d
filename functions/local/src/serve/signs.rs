//! The signs of the API of this process, from which it is known when pings could be taken.

use std::sync::Arc;

use minutehand_app::ApiPresence;
use minutehand_app::fire::Stop;
use minutehand_domain::presence::SIGN_EVERY;
use minutehand_ports::{Clock, chain};

/// Gives signs until the API stops, and says that it does. A sign that fails is given the next time.
pub(super) async fn sign(presence: Arc<ApiPresence>, clock: Arc<dyn Clock>, stop: Stop) {
    let every = SIGN_EVERY.to_std().unwrap_or_default();
    let signs = async {
        loop {
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
