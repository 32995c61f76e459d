//! The clock that the test moves, and the targets that jobs call: they do what the test wrote down, and
//! take time by moving the clock.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use minutehand_domain::action::{HttpRequest, Target};
use minutehand_domain::attempt::Outcome;
use minutehand_domain::cause::{Cause, CauseKind};
use minutehand_domain::firing::SkipReason;
use minutehand_domain::job::JobState;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::{
    ActionOutcome, ActionSender, AttemptContext, Clock, Event, EventSink, NotMade,
};
use tokio::sync::Notify;

pub(super) struct Moved(Mutex<DateTime<Utc>>);

impl Moved {
    pub(super) fn at(now: DateTime<Utc>) -> Self {
        Self(Mutex::new(now))
    }

    /// It never goes back.
    pub(super) fn move_to(&self, at: DateTime<Utc>) {
        let mut now = self.0.lock().unwrap();
        *now = at.max(*now);
    }

    /// Sets it, forward or back.
    pub(super) fn set_to(&self, at: DateTime<Utc>) {
        *self.0.lock().unwrap() = at;
    }

    fn pass(&self, time: TimeDelta) {
        *self.0.lock().unwrap() += time;
    }
}

#[async_trait]
impl Clock for Moved {
    fn now(&self) -> DateTime<Utc> {
        *self.0.lock().unwrap()
    }

    async fn wait_until(&self, at: DateTime<Utc>) {
        self.move_to(at);
    }

    async fn wait(&self, work: Duration) {
        self.pass(TimeDelta::from_std(work).unwrap());
    }
}

/// The same clock, on which no instant ever comes.
pub(super) struct Still(pub(super) Arc<Moved>);

#[async_trait]
impl Clock for Still {
    fn now(&self) -> DateTime<Utc> {
        self.0.now()
    }

    async fn wait_until(&self, _at: DateTime<Utc>) {
        std::future::pending::<()>().await;
    }

    async fn wait(&self, work: Duration) {
        self.0.wait(work).await;
    }
}

/// The same clock, on which a span of work passes when a test says so.
pub(super) struct Told(pub(super) Arc<dyn Clock>, pub(super) Arc<Notify>);

#[async_trait]
impl Clock for Told {
    fn now(&self) -> DateTime<Utc> {
        self.0.now()
    }

    async fn wait_until(&self, at: DateTime<Utc>) {
        self.0.wait_until(at).await;
    }

    async fn wait(&self, work: Duration) {
        self.1.notified().await;
        self.0.wait(work).await;
    }
}

/// What a call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behaviour {
    Succeed,
    /// Answers that it goes on.
    Accept,
    /// Does not begin: its process has run out of something.
    NotMade,
    Fail,
    /// Has no answer in its time, which passes at once.
    TimeOut,
    /// Fails, and asks to wait so many seconds.
    AskToWait(i64),
    /// Succeeds after so many seconds.
    Take(i64),
    /// Kills the worker that calls.
    Kill,
    /// Stands still until it is told to go on, and succeeds.
    Hold,
    /// Stands still until it is told to go on, and fails.
    HoldAndFail,
}

/// A call that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) at: DateTime<Utc>,
    pub(super) uri: String,
    pub(super) request: HttpRequest,
    pub(super) context: AttemptContext,
}

pub(super) struct Targets {
    clock: Arc<Moved>,
    scripts: Mutex<HashMap<String, VecDeque<Behaviour>>>,
    always: Mutex<HashMap<String, Behaviour>>,
    calls: Mutex<Vec<Call>>,
    died: tokio::sync::Notify,
    go_on: tokio::sync::Notify,
}

impl Targets {
    pub(super) fn new(clock: Arc<Moved>) -> Self {
        Self {
            clock,
            scripts: Mutex::default(),
            always: Mutex::default(),
            calls: Mutex::default(),
            died: tokio::sync::Notify::new(),
            go_on: tokio::sync::Notify::new(),
        }
    }

    /// The reactions to the next calls of a URI. Then follows its permanent reaction, or success.
    pub(super) fn next(&self, uri: &str, does: &[Behaviour]) {
        self.scripts.lock().unwrap().insert(uri.to_owned(), does.iter().copied().collect());
    }

    pub(super) fn always(&self, uri: &str, does: Behaviour) {
        self.always.lock().unwrap().insert(uri.to_owned(), does);
    }

    pub(super) fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }

    /// Lets a call that stands still go on.
    pub(super) fn go_on(&self) {
        self.go_on.notify_one();
    }

    /// Ends when a call killed its worker.
    pub(super) async fn died(&self) {
        self.died.notified().await;
    }

    fn does(&self, uri: &str) -> Behaviour {
        let next = self.scripts.lock().unwrap().get_mut(uri).and_then(VecDeque::pop_front);
        let always = || self.always.lock().unwrap().get(uri).copied();
        next.or_else(always).unwrap_or(Behaviour::Succeed)
    }
}

#[async_trait]
impl ActionSender for Targets {
    async fn send(
        &self,
        target: &Target,
        context: &AttemptContext,
    ) -> Result<ActionOutcome, NotMade> {
        let (Target::Http(request) | Target::Https(request)) = target else {
            panic!("nothing else is used here");
        };
        let at = self.clock.now();
        assert!(at >= context.expected_at, "never early: {context:?} at {at}");
        let uri = request.uri.clone();
        let does = self.does(&uri);
        self.calls.lock().unwrap().push(Call {
            at,
            uri,
            request: request.clone(),
            context: context.clone(),
        });
        let retry_after = match does {
            Behaviour::AskToWait(seconds) => Some(TimeDelta::seconds(seconds)),
            _ => None,
        };
        let outcome = match does {
            Behaviour::Succeed | Behaviour::Accept => Outcome::Succeeded,
            Behaviour::NotMade => {
                return Err(NotMade { out_of: "open files" });
            }
            Behaviour::Fail | Behaviour::TimeOut | Behaviour::AskToWait(_) => Outcome::Failed,
            Behaviour::Take(seconds) => {
                self.clock.pass(TimeDelta::seconds(seconds));
                Outcome::Succeeded
            }
            Behaviour::Hold => {
                self.go_on.notified().await;
                Outcome::Succeeded
            }
            Behaviour::HoldAndFail => {
                self.go_on.notified().await;
                Outcome::Failed
            }
            Behaviour::Kill => {
                self.died.notify_one();
                std::future::pending().await
            }
        };
        Ok(ActionOutcome {
            outcome,
            is_accepted: does == Behaviour::Accept,
            cause: (outcome == Outcome::Failed).then(|| match does {
                Behaviour::TimeOut => CauseKind::Timeout.into(),
                _ => Cause::http(500),
            }),
            message: format!("{outcome:?}"),
            retry_after,
            body: None,
        })
    }
}

/// The events that history does not contain.
#[derive(Default)]
pub(super) struct Noted(Mutex<Happened>);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Happened {
    pub(super) dropped: Vec<(String, SkipReason)>,
    pub(super) overtaken: u64,
    pub(super) retried: usize,
    pub(super) paused: Vec<String>,
    pub(super) alerts_lost: Vec<String>,
    pub(super) finished: Vec<(String, JobState)>,
}

impl Noted {
    pub(super) fn happened(&self) -> Happened {
        self.0.lock().unwrap().clone()
    }

    /// Why attempts of a job did not start.
    pub(super) fn dropped(&self, key: &str) -> Vec<SkipReason> {
        let dropped = self.happened().dropped.into_iter();
        dropped.filter(|(job, _)| job == key).map(|(_, why)| why).collect()
    }
}

impl EventSink for Noted {
    fn note(&self, event: Event<'_>) {
        let mut noted = self.0.lock().unwrap();
        let key = |job: &JobRef| job.key.clone();
        match event {
            Event::Started { attempt, late, .. } => {
                assert!(late >= TimeDelta::zero(), "never early: {attempt:?}");
            }
            Event::Executed { attempt, record, .. } => {
                assert!(record.started_at >= attempt.due_at, "never early: {attempt:?}");
            }
            Event::Dropped { job, why, .. } => noted.dropped.push((key(job), why)),
            Event::Overtaken { occurrences, .. } => noted.overtaken += occurrences,
            Event::Retried { .. } => noted.retried += 1,
            Event::Paused { job, .. } => noted.paused.push(key(job)),
            Event::Finished { job, state } => noted.finished.push((key(job), state)),
            Event::AlertLost { job } => noted.alerts_lost.push(key(job)),
            Event::MessageUnreadable | Event::DeadLetter => {
                unreachable!("no worker is tested here")
            }
        }
    }
}
