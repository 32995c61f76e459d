//! Handles deliveries of the queue, in the same way on every host.
//!
//! A host takes messages from its queue, passes each delivery to a [`Worker`], and does what the
//! returned [`Disposition`] says. The worker decides everything else:
//!
//! | the work | `error_type` in the log | the message |
//! |---|---|---|
//! | succeeded | | is deleted, if what follows did not do so |
//! | has no place among the attempts under way, or waits for its turn | | waits, and the delivery does not count |
//! | is held by another worker, or given back by a process that stops | | is retried when the lease ends, or at once; a queue of the host's own looks every two seconds, which does not count |
//! | failed in the store, the queue or the key | `MessageFailed` | is retried after a pause that doubles from 5 to 120 seconds; a store that throttles gets up to ten seconds more, another time for each message |
//! | reached its deadline | `MessageTimedOut` | is retried at its visibility timeout: its lease has ended by then |
//! | panicked | `MessagePanicked` | the same |
//! | was written by a newer version | `MessageNewer` | the same: a newer worker may have started by then |
//! | cannot be read | `MessageUnreadable` | is buried |
//! | did not succeed in the last delivery | that, and `DeadLetter` | is buried |
//!
//! A delivery asks for one work item. A queue whose messages hold several delivers each by itself, and
//! decides what becomes of the message.
//!
//! A crash in here leaves the message in the queue, which delivers it again. The store knows how
//! far the work came.

use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures_util::FutureExt;
use futures_util::future::{Either, select};
use minutehand_domain::firing::limits::{RECEIVES_MAX, VISIBILITY};
use minutehand_domain::work_item::{UnreadableMessage, WorkItem};
use minutehand_ports::{Clock, ErrorType, Event, EventSink, chain};

use super::execute::{Executor, Performed, Performer};
use super::loaded_job::path_without_names;
use super::{DeliveryPlace, Stop, Wait};
use crate::error::{AppError, Result};

/// The pause after the first failed delivery.
const BACKOFF_FIRST: Duration = Duration::from_secs(5);
/// How often the pause doubles before it has reached the visibility timeout.
const BACKOFF_DOUBLINGS_MAX: u32 = 5;

/// A throttled message waits up to this much longer.
const SPREAD_MILLIS: u64 = 10_000;

/// Handles deliveries of a queue.
pub struct Worker<P = Executor> {
    performer: P,
    clock: Arc<dyn Clock>,
    events: Arc<dyn EventSink>,
}

/// One delivery of one message.
#[derive(Clone, Copy)]
pub struct Delivery<'a> {
    /// Identifies the message in the log.
    pub message_id: &'a (dyn fmt::Display + Sync),
    /// How often the message was delivered, this time included.
    pub receives: u32,
    /// What the message asks for.
    pub work_item: Result<&'a WorkItem, &'a UnreadableMessage>,
    /// Its place among the attempts under way.
    pub place: &'a dyn DeliveryPlace,
}

/// What the host does with a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Disposition {
    /// Deliver the message again after this much work time.
    RetryAfter(Duration),
    /// The same, because the store throttles.
    RetryThrottled(Duration),
    /// Leave the message alone: the queue delivers it again at its visibility timeout.
    RetryAtVisibilityTimeout,
    /// Let the message wait, and do not count this delivery: nothing was done.
    Wait(Wait),
    /// Move the message to the dead letters, for this reason.
    Bury(String),
    /// Delete the message.
    Delete,
    /// Nothing: the message is deleted.
    Deleted,
}

/// How the work of one work item ended.
#[derive(Debug)]
enum Ending<'a> {
    Performed(Performed),
    Failed(AppError),
    TimedOut,
    Panicked,
    Unreadable(&'a UnreadableMessage),
}

impl<P: Performer> Worker<P> {
    /// A worker that passes work items to `performer`.
    #[must_use]
    pub fn new(performer: P, clock: Arc<dyn Clock>, events: Arc<dyn EventSink>) -> Self {
        Self { performer, clock, events }
    }

    /// Handles one delivery. Never panics, and never takes longer than until `deadline`, in work time.
    ///
    /// When `stop` fires, attempts that are not due yet give back their claims; started attempts
    /// continue.
    pub async fn handle(
        &self,
        delivery: Delivery<'_>,
        deadline: DateTime<Utc>,
        stop: &Stop,
    ) -> Disposition {
        let ending = match delivery.work_item {
            Err(error) => Ending::Unreadable(error),
            Ok(work_item) => self.perform(work_item, delivery.place, deadline, stop).await,
        };
        self.log(delivery, &ending);
        let disposition = match decide(&ending, delivery.receives) {
            Disposition::RetryThrottled(after) => {
                Disposition::RetryThrottled(after + spread(&delivery.message_id.to_string()))
            }
            other => other,
        };
        let ends = matches!(
            disposition,
            Disposition::Delete | Disposition::Deleted | Disposition::Wait(_)
        );
        if !ends && is_last(delivery.receives) {
            self.log_dead_letter(delivery);
        }
        disposition
    }

    async fn perform<'a>(
        &self,
        work_item: &WorkItem,
        place: &dyn DeliveryPlace,
        deadline: DateTime<Utc>,
        stop: &Stop,
    ) -> Ending<'a> {
        let left = (deadline - self.clock.work_now()).to_std().unwrap_or_default();
        let performed = async { self.performer.perform(work_item, place, stop).await };
        let performed = pin!(AssertUnwindSafe(performed).catch_unwind());
        match select(performed, self.clock.wait(left)).await {
            Either::Left((Ok(Ok(performed)), _)) => Ending::Performed(performed),
            Either::Left((Ok(Err(error)), _)) => Ending::Failed(error),
            // The panic itself is in the log already.
            Either::Left((Err(_), _)) => Ending::Panicked,
            Either::Right(((), _)) => Ending::TimedOut,
        }
    }

    fn log(&self, delivery: Delivery<'_>, ending: &Ending<'_>) {
        let Some(error_type) = error_type(ending) else { return };
        if let Ending::Unreadable(_) = ending {
            self.events.note(Event::MessageUnreadable);
        }
        let (what, error) = match ending {
            Ending::Performed(_) => return,
            Ending::TimedOut => ("message timed out", None),
            Ending::Panicked => ("message handler panicked", None),
            Ending::Unreadable(error) => ("message is unreadable", Some(error.to_string())),
            Ending::Failed(error) if is_last(delivery.receives) => {
                ("message failed", Some(chain(error)))
            }
            Ending::Failed(error) => ("message failed, will be retried", Some(chain(error))),
        };
        let Delivery { message_id, receives, work_item, .. } = delivery;
        // The store may be what failed, so the path is not read: the message has the job's ids.
        let job = work_item.ok().and_then(WorkItem::job);
        let (uid, path) = (job.map(|job| job.uid.as_str()), job.map(path_without_names));
        tracing::error!(
            %error_type, %message_id, receives, job.path = path, job.uid = uid, error, "{what}"
        );
    }

    fn log_dead_letter(&self, delivery: Delivery<'_>) {
        self.events.note(Event::DeadLetter);
        let Delivery { message_id, receives, work_item, .. } = delivery;
        let error_type = ErrorType::DeadLetter;
        let job = work_item.ok().and_then(WorkItem::job);
        let (uid, path) = (job.map(|job| job.uid.as_str()), job.map(path_without_names));
        tracing::error!(
            %error_type, %message_id, receives, job.path = path, job.uid = uid,
            "message goes to the dead letters"
        );
    }
}

/// Decides what becomes of a message: the table above.
fn decide(ending: &Ending<'_>, receives: u32) -> Disposition {
    let retry = match ending {
        Ending::Performed(Performed::Done) => return Disposition::Delete,
        Ending::Performed(Performed::Finished) => return Disposition::Deleted,
        Ending::Performed(Performed::Waits(wait)) => return Disposition::Wait(wait.clone()),
        Ending::Unreadable(UnreadableMessage::NotJson(_) | UnreadableMessage::NotAWorkItem(_)) => {
            return Disposition::Bury(ending.to_string());
        }
        Ending::Performed(Performed::Again(after)) => Disposition::RetryAfter(*after),
        Ending::Failed(error) if error.is_throttling() => {
            Disposition::RetryThrottled(backoff(receives))
        }
        Ending::Failed(_) => Disposition::RetryAfter(backoff(receives)),
        Ending::TimedOut
        | Ending::Panicked
        | Ending::Unreadable(UnreadableMessage::Newer { .. }) => {
            Disposition::RetryAtVisibilityTimeout
        }
    };
    if is_last(receives) {
        return Disposition::Bury(format!("delivered {receives} times; the last time {ending}"));
    }
    retry
}

const fn error_type(ending: &Ending<'_>) -> Option<ErrorType> {
    match ending {
        Ending::Performed(_) => None,
        Ending::Failed(_) => Some(ErrorType::MessageFailed),
        Ending::TimedOut => Some(ErrorType::MessageTimedOut),
        Ending::Panicked => Some(ErrorType::MessagePanicked),
        Ending::Unreadable(UnreadableMessage::Newer { .. }) => Some(ErrorType::MessageNewer),
        Ending::Unreadable(UnreadableMessage::NotJson(_) | UnreadableMessage::NotAWorkItem(_)) => {
            Some(ErrorType::MessageUnreadable)
        }
    }
}

/// Whether the queue does not deliver the message again.
const fn is_last(receives: u32) -> bool {
    receives >= RECEIVES_MAX
}

/// The pause after a failed delivery. It grows, so that all deliveries of a message together outlast
/// an outage of half an hour.
fn backoff(receives: u32) -> Duration {
    let doublings = receives.saturating_sub(1).min(BACKOFF_DOUBLINGS_MAX);
    (BACKOFF_FIRST * 2_u32.pow(doublings)).min(VISIBILITY.to_std().unwrap_or(BACKOFF_FIRST))
}

/// What is added to the pause of a throttled message: the same for each of its deliveries, so that messages
/// which were throttled together do not come back together.
fn spread(message_id: &str) -> Duration {
    let mut hasher = DefaultHasher::new();
    message_id.hash(&mut hasher);
    Duration::from_millis(hasher.finish() % SPREAD_MILLIS)
}

/// The end of a sentence about a message: why it is among the dead letters.
impl fmt::Display for Ending<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Performed(Performed::Done | Performed::Finished) => f.write_str("it succeeded"),
            Self::Performed(Performed::Again(_)) => f.write_str("another worker had claimed it"),
            Self::Performed(Performed::Waits(_)) => f.write_str("it had to wait"),
            Self::Failed(error) => write!(f, "it failed: {}", chain(error)),
            Self::TimedOut => f.write_str("it timed out"),
            Self::Panicked => f.write_str("its handler panicked"),
            Self::Unreadable(error) => write!(f, "{error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::sync::Mutex;

    use minutehand_domain::firing::limits::FUNCTION;
    use minutehand_domain::work_item::decode;
    use minutehand_testkit::SetClock;

    use super::*;
    use crate::fire::Unbounded;

    const SECOND: Duration = Duration::from_secs(1);

    /// Ends each work item as the name of its collection says.
    struct Scripted;

    impl Performer for Scripted {
        fn perform(
            &self,
            work_item: &WorkItem,
            _place: &dyn DeliveryPlace,
            _stop: &Stop,
        ) -> impl Future<Output = Result<Performed>> + Send {
            let WorkItem::PurgeCollection { collection_uid } = work_item else {
                panic!("not of this test: {work_item:?}");
            };
            match collection_uid.as_str() {
                "panics at once" => panic!("as the test asked for"),
                "hangs" => Either::Left(pending()),
                "panics" => Either::Right(Either::Left(async { panic!("as the test asked for") })),
                "held" => Either::Right(Either::Right(ready(Ok(Performed::Again(SECOND))))),
                "waits" => {
                    let waits = Performed::Waits(Wait::For(SECOND));
                    Either::Right(Either::Right(ready(Ok(waits))))
                }
                "finished" => Either::Right(Either::Right(ready(Ok(Performed::Finished)))),
                "fails" => Either::Right(Either::Right(ready(Err(busy())))),
                _ => Either::Right(Either::Right(ready(Ok(Performed::Done)))),
            }
        }
    }

    #[derive(Default)]
    struct Counted(Mutex<[u32; 2]>);

    impl EventSink for Counted {
        fn note(&self, event: Event<'_>) {
            let mut counted = self.0.lock().unwrap();
            match event {
                Event::MessageUnreadable => counted[0] += 1,
                Event::DeadLetter => counted[1] += 1,
                other => panic!("not of a worker: {other:?}"),
            }
        }
    }

    fn throttled() -> AppError {
        minutehand_ports::StoreError::Throttled("the test asked for it".into()).into()
    }

    #[test]
    fn what_is_throttled_is_told_from_other_failures() {
        let ending = Ending::Failed(throttled());
        assert_eq!(decide(&ending, 2), Disposition::RetryThrottled(Duration::from_secs(10)));
        assert!(matches!(decide(&ending, RECEIVES_MAX), Disposition::Bury(_)));
    }

    #[test]
    fn messages_that_were_throttled_together_come_back_at_different_times() {
        let spreads: Vec<_> = (0..100).map(|n| spread(&format!("m{n}")).as_secs()).collect();
        for second in 0..10 {
            let n = spreads.iter().filter(|it| **it == second).count();
            assert!((3..20).contains(&n), "{n} of 100 in second {second}");
        }
        assert_eq!(spread("m1"), spread("m1"));
    }

    fn busy() -> AppError {
        AppError::Busy { what: "the job".to_owned() }
    }

    fn bury(reason: &str) -> Disposition {
        Disposition::Bury(reason.to_owned())
    }

    /// Handles a delivery. Returns the disposition, the work time that it took, and how many
    /// unreadable messages and dead letters were counted.
    fn handle(
        work_item: Result<&WorkItem, &UnreadableMessage>,
        receives: u32,
    ) -> (Disposition, Duration, [u32; 2]) {
        let clock = SetClock::at(DateTime::UNIX_EPOCH);
        let counted = Arc::new(Counted::default());
        let worker = Worker::new(Scripted, Arc::new(clock.clone()), counted.clone());
        let delivery = Delivery { message_id: &"m", receives, work_item, place: &Unbounded };
        let deadline = clock.now() + FUNCTION;
        let disposition = pollster::block_on(worker.handle(delivery, deadline, &Stop::never()));
        let took = (clock.now() - DateTime::UNIX_EPOCH).to_std().unwrap();
        let counted = *counted.0.lock().unwrap();
        (disposition, took, counted)
    }

    fn item(name: &str) -> WorkItem {
        WorkItem::PurgeCollection { collection_uid: name.to_owned() }
    }

    #[test]
    fn every_ending_has_one_disposition_and_error_type() {
        use Disposition::{Delete, RetryAfter, RetryAtVisibilityTimeout};
        let after = |seconds| RetryAfter(Duration::from_secs(seconds));
        let not_json = decode("{").unwrap_err();
        let not_ours = decode("{}").unwrap_err();
        let newer = decode(r#"{"v":9}"#).unwrap_err();
        let last = RECEIVES_MAX;
        let eof = "the message is not a work item: \
                   EOF while parsing an object at line 1 column 1";
        let no_version = "the message is not a work item: property 'v' is missing or invalid";
        for (ending, receives, expected, error_type) in [
            (Ending::Performed(Performed::Done), 1, Delete, None),
            (Ending::Performed(Performed::Done), last, Delete, None),
            (Ending::Performed(Performed::Finished), last, Disposition::Deleted, None),
            (Ending::Performed(Performed::Again(SECOND)), 1, after(1), None),
            (Ending::Performed(Performed::Again(SECOND)), last - 1, after(1), None),
            (
                Ending::Performed(Performed::Again(SECOND)),
                last,
                bury("delivered 20 times; the last time another worker had claimed it"),
                None,
            ),
            // However often it was delivered: it has waited each time.
            (
                Ending::Performed(Performed::Waits(Wait::For(SECOND))),
                last,
                Disposition::Wait(Wait::For(SECOND)),
                None,
            ),
            (Ending::Failed(busy()), 1, after(5), Some("MessageFailed")),
            (Ending::Failed(busy()), 2, after(10), Some("MessageFailed")),
            (Ending::Failed(busy()), last - 1, after(120), Some("MessageFailed")),
            (
                Ending::Failed(busy()),
                last,
                bury(
                    "delivered 20 times; the last time it failed: the job is being modified concurrently",
                ),
                Some("MessageFailed"),
            ),
            (Ending::TimedOut, 1, RetryAtVisibilityTimeout, Some("MessageTimedOut")),
            (
                Ending::TimedOut,
                last,
                bury("delivered 20 times; the last time it timed out"),
                Some("MessageTimedOut"),
            ),
            (Ending::Panicked, 1, RetryAtVisibilityTimeout, Some("MessagePanicked")),
            (
                Ending::Panicked,
                last,
                bury("delivered 20 times; the last time its handler panicked"),
                Some("MessagePanicked"),
            ),
            (Ending::Unreadable(&newer), 1, RetryAtVisibilityTimeout, Some("MessageNewer")),
            (
                Ending::Unreadable(&newer),
                last,
                bury(
                    "delivered 20 times; the last time the message has version 9, \
                     and this worker reads up to 8",
                ),
                Some("MessageNewer"),
            ),
            (Ending::Unreadable(&not_json), 1, bury(eof), Some("MessageUnreadable")),
            (Ending::Unreadable(&not_ours), 1, bury(no_version), Some("MessageUnreadable")),
            (Ending::Unreadable(&not_ours), last, bury(no_version), Some("MessageUnreadable")),
        ] {
            assert_eq!(decide(&ending, receives), expected, "{ending:?}, {receives}");
            let found = super::error_type(&ending).map(ErrorType::name);
            assert_eq!(found, error_type, "{ending:?}");
        }
    }

    #[test]
    fn the_backoff_doubles_and_all_deliveries_outlast_half_an_hour() {
        let pauses: Vec<u64> = (1..=7).map(|receives| backoff(receives).as_secs()).collect();
        assert_eq!(pauses, [5, 10, 20, 40, 80, 120, 120]);
        let total: Duration = (1..RECEIVES_MAX).map(backoff).sum();
        assert!(total > Duration::from_mins(30), "{total:?}");
    }

    #[test]
    fn a_message_is_deleted_when_its_work_item_has_succeeded() {
        assert_eq!(handle(Ok(&item("a")), 1), (Disposition::Delete, Duration::ZERO, [0, 0]));
        assert_eq!(handle(Ok(&item("held")), 1).0, Disposition::RetryAfter(SECOND));
        let finished = handle(Ok(&item("finished")), RECEIVES_MAX);
        assert_eq!(finished, (Disposition::Deleted, Duration::ZERO, [0, 0]));
        let waits = handle(Ok(&item("waits")), RECEIVES_MAX);
        assert_eq!(waits, (Disposition::Wait(Wait::For(SECOND)), Duration::ZERO, [0, 0]));
        let (disposition, _, counted) = handle(Ok(&item("fails")), RECEIVES_MAX);
        assert!(matches!(disposition, Disposition::Bury(_)), "{disposition:?}");
        assert_eq!(counted, [0, 1]);
    }

    #[test]
    fn a_panic_is_caught() {
        for name in ["panics", "panics at once"] {
            let expected = (Disposition::RetryAtVisibilityTimeout, Duration::ZERO, [0, 0]);
            assert_eq!(handle(Ok(&item(name)), 1), expected, "{name}");
        }
    }

    #[test]
    fn work_that_hangs_ends_at_the_deadline() {
        let limit = FUNCTION.to_std().unwrap();
        let expected = (Disposition::RetryAtVisibilityTimeout, limit, [0, 0]);
        assert_eq!(handle(Ok(&item("hangs")), 1), expected);
    }

    #[test]
    fn unreadable_messages_and_dead_letters_are_counted() {
        let (newer, bad) = (decode(r#"{"v":9}"#).unwrap_err(), decode("{}").unwrap_err());
        assert_eq!(handle(Err(&newer), 1).2, [1, 0]);
        assert_eq!(handle(Err(&bad), RECEIVES_MAX - 1).2, [1, 0]);
        assert_eq!(handle(Err(&bad), RECEIVES_MAX).2, [1, 1]);
        assert_eq!(handle(Ok(&item("fails")), RECEIVES_MAX).2, [0, 1]);
        assert_eq!(handle(Ok(&item("a")), RECEIVES_MAX).2, [0, 0]);
    }
}
