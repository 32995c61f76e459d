//! How many actions are being performed right now.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use minutehand_domain::action::Target;
use minutehand_ports::{ActionOutcome, ActionSender, AttemptContext, NotMade};

/// The number of actions under way. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct UnderWay(Arc<AtomicUsize>);

/// A sender whose actions are counted while they are under way.
pub(super) struct CountedSender<S> {
    sender: S,
    under_way: UnderWay,
}

/// Takes an action out of the count, even if its task is cancelled.
struct Ended<'a>(&'a AtomicUsize);

impl UnderWay {
    pub(super) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) const fn around<S>(self, sender: S) -> CountedSender<S> {
        CountedSender { sender, under_way: self }
    }
}

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[async_trait]
impl<S: ActionSender> ActionSender for CountedSender<S> {
    async fn send(
        &self,
        target: &Target,
        context: &AttemptContext,
    ) -> Result<ActionOutcome, NotMade> {
        self.under_way.0.fetch_add(1, Ordering::Relaxed);
        let _ended = Ended(&self.under_way.0);
        self.sender.send(target, context).await
    }
}
