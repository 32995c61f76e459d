//! Tells streams the events of the server: layers over the ports of the store, and a look at the work of other
//! processes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use minutehand_app::fire::FireStore;
use minutehand_domain::attempt::{Attempt, Record};
use minutehand_domain::attempt_key::attempt_key;
use minutehand_domain::journal::JournalEntry;
use minutehand_domain::work_item::JobRef;
use minutehand_ports::store::{
    AttemptsLayer, Claim, CollectionRecord, CollectionsLayer, JobRecord, JobSnapshot, JobsLayer,
    Layer, LeaveOpen, LeftOpen, OpenAttemptsLayer, Pause, PresentAttempt, Recorded, SaveJob, Saved,
    SnapshotsLayer, Standing, StoreError, TimersLayer,
};
use minutehand_ports::{
    Attempts, Browse as _, Clock, Collections, Jobs, OpenAttempts, Snapshots, Timers, chain,
};
use minutehand_rest::{Happened, Live, LiveCollection, LiveEvent};
use minutehand_store_sql::{CollectionMark, SqlStore};

/// The time between two looks at what other processes do, while a client listens.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A store that tells what is done in it.
pub(super) struct Telling<S: ?Sized> {
    store: Arc<S>,
    live: Arc<Live>,
}

impl<S: ?Sized> Telling<S> {
    pub(super) const fn new(store: Arc<S>, live: Arc<Live>) -> Self {
        Self { store, live }
    }

    fn tell_saved(&self, saved: Saved, collection: &CollectionRecord, job: Option<&JobRecord>) {
        if saved == Saved::Kept {
            let path = collection.place.collection_path(&collection.collection.name);
            self.live.tell(LiveEvent {
                what: Happened::Changed,
                collection: LiveCollection::Path(path),
                job: job.map(|job| job.name.key()),
            });
        }
    }
}

/// The store of workers, which tells what they do.
pub(super) fn telling(store: FireStore, live: &Arc<Live>) -> FireStore {
    FireStore {
        attempts: Arc::new(Telling::new(store.attempts, live.clone())),
        open: Arc::new(Telling::new(store.open, live.clone())),
        snapshots: Arc::new(Telling::new(store.snapshots, live.clone())),
        timers: Arc::new(Telling::new(store.timers, live.clone())),
        ..store
    }
}

impl<S: ?Sized + Send + Sync + 'static> Layer for Telling<S> {
    type Inner = S;

    fn inner(&self) -> Arc<S> {
        self.store.clone()
    }
}

#[async_trait]
impl SnapshotsLayer for Telling<dyn Snapshots> {
    async fn read_for_start(&self, claim: &Claim) -> Result<Option<Arc<JobSnapshot>>, StoreError> {
        let snapshot = self.store.read_for_start(claim).await?;
        if snapshot.is_some() {
            self.live.tell(of_job(Happened::Started, &claim.job));
        }
        Ok(snapshot)
    }
}

#[async_trait]
impl AttemptsLayer for Telling<dyn Attempts> {
    async fn postpone(
        &self,
        claim: &Claim,
        hold: TimeDelta,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        self.store.postpone(claim, hold, now).await?;
        self.live.tell(of_job(Happened::Waiting, &claim.job));
        Ok(())
    }

    async fn record(&self, claim: &Claim, record: &Record) -> Result<Recorded, StoreError> {
        let recorded = self.store.record(claim, record).await?;
        self.live.tell(of_job(Happened::Ended, &claim.job));
        Ok(recorded)
    }
}

#[async_trait]
impl OpenAttemptsLayer for Telling<dyn OpenAttempts> {
    async fn leave_open(&self, claim: &Claim, open: &LeaveOpen) -> Result<LeftOpen, StoreError> {
        let left = self.store.leave_open(claim, open).await?;
        self.live.tell(of_job(Happened::Changed, &claim.job));
        Ok(left)
    }

    async fn note_progress(
        &self,
        job: &JobRef,
        attempt: &Attempt,
        line: &str,
    ) -> Result<bool, StoreError> {
        let is_noted = self.store.note_progress(job, attempt, line).await?;
        self.live.tell(of_job(Happened::Changed, job));
        Ok(is_noted)
    }

    async fn record_ending(&self, claim: &Claim, record: &Record) -> Result<Recorded, StoreError> {
        let recorded = self.store.record_ending(claim, record).await?;
        self.live.tell(of_job(Happened::Ended, &claim.job));
        Ok(recorded)
    }
}

#[async_trait]
impl TimersLayer for Telling<dyn Timers> {
    async fn pause(&self, pause: &Pause) -> Result<bool, StoreError> {
        let is_paused = self.store.pause(pause).await?;
        self.live.tell(of_job(Happened::Changed, &pause.job));
        Ok(is_paused)
    }
}

#[async_trait]
impl JobsLayer for Telling<dyn Jobs> {
    async fn create(
        &self,
        save: SaveJob<'_>,
        jobs_max: Option<u32>,
        now: DateTime<Utc>,
    ) -> Result<Saved, StoreError> {
        let saved = self.store.create(save, jobs_max, now).await?;
        self.tell_saved(saved, save.collection, Some(save.job));
        Ok(saved)
    }

    async fn replace(&self, save: SaveJob<'_>) -> Result<Saved, StoreError> {
        let saved = self.store.replace(save).await?;
        self.tell_saved(saved, save.collection, Some(save.job));
        Ok(saved)
    }

    async fn delete(
        &self,
        collection: &CollectionRecord,
        job: &JobRecord,
        entry: Option<&JournalEntry>,
    ) -> Result<Saved, StoreError> {
        let saved = self.store.delete(collection, job, entry).await?;
        self.tell_saved(saved, collection, Some(job));
        Ok(saved)
    }
}

#[async_trait]
impl CollectionsLayer for Telling<dyn Collections> {
    async fn create(
        &self,
        collection: &CollectionRecord,
        entry: Option<&JournalEntry>,
    ) -> Result<Saved, StoreError> {
        let saved = self.store.create(collection, entry).await?;
        self.tell_saved(saved, collection, None);
        Ok(saved)
    }

    async fn replace(
        &self,
        collection: &CollectionRecord,
        entry: Option<&JournalEntry>,
    ) -> Result<Saved, StoreError> {
        let saved = self.store.replace(collection, entry).await?;
        self.tell_saved(saved, collection, None);
        Ok(saved)
    }

    async fn delete(
        &self,
        collection: &CollectionRecord,
        now: DateTime<Utc>,
        entry: Option<&JournalEntry>,
    ) -> Result<Saved, StoreError> {
        let saved = self.store.delete(collection, now, entry).await?;
        self.tell_saved(saved, collection, None);
        Ok(saved)
    }
}

fn of_job(what: Happened, job: &JobRef) -> LiveEvent {
    let collection = LiveCollection::Uid(job.collection_uid.clone());
    LiveEvent { what, collection, job: Some(job.key.clone()) }
}

/// Tells the clients of this process what the other processes of the database do. A look finds the work of this
/// process too, so its own events are told twice; a client may read again for each.
pub(super) async fn follow_others(store: Arc<SqlStore>, live: Arc<Live>, clock: Arc<dyn Clock>) {
    let mut before: Option<Seen> = None;
    loop {
        clock.wait(LOOK_EVERY).await;
        if live.listeners() == 0 {
            before = None;
            continue;
        }
        match Seen::read(&store, clock.as_ref()).await {
            Ok(now) => {
                if let Some(before) = &before {
                    for event in now.since(before) {
                        live.tell(event);
                    }
                }
                before = Some(now);
            }
            Err(error) => {
                tracing::debug!(error = chain(&error), "cannot read what other processes do");
            }
        }
    }
}

/// What is seen at a moment.
#[derive(Debug, Default)]
struct Seen {
    /// The attempts that have not ended, each with what it does.
    present: HashMap<(String, String), (JobRef, Doing)>,
    /// What has changed last in each collection, by its id.
    marks: HashMap<String, CollectionMark>,
}

impl Seen {
    async fn read(store: &SqlStore, clock: &dyn Clock) -> Result<Self, StoreError> {
        let now = clock.now();
        let found = store.present(now, clock.work_now()).await?;
        let items = found.into_iter().flat_map(|found| found.items);
        let items = items.filter(|it| it.attempt.due_at <= now);
        let marks = store.collection_marks().await?.into_iter().collect();
        Ok(Self { present: items.map(present).collect(), marks })
    }

    /// What has happened since an earlier look.
    fn since(&self, before: &Self) -> Vec<LiveEvent> {
        let new = self.present.iter().filter_map(|(key, (job, doing))| {
            let known = before.present.get(key).map(|(_, known)| known);
            let what = match known {
                Some(known) if known == doing => return None,
                Some(known) if known.what == doing.what => Happened::Changed,
                _ => doing.what,
            };
            Some(of_job(what, job))
        });
        let gone = before.present.iter().filter(|(key, _)| !self.present.contains_key(*key));
        let ended = gone.map(|(_, (job, _))| of_job(Happened::Ended, job));
        let changed = self.marks.iter().filter(|(uid, mark)| before.marks.get(*uid) != Some(*mark));
        let changed = changed.map(|(uid, _)| LiveEvent {
            what: Happened::Changed,
            collection: LiveCollection::Uid(uid.clone()),
            job: None,
        });
        new.chain(ended).chain(changed).collect()
    }
}

/// What an attempt does that has not ended.
#[derive(Debug, PartialEq, Eq)]
struct Doing {
    what: Happened,
    is_open: bool,
    /// What its target said last.
    progress: Option<String>,
}

impl Doing {
    const fn only(what: Happened) -> Self {
        Self { what, is_open: false, progress: None }
    }
}

fn present(found: PresentAttempt) -> ((String, String), (JobRef, Doing)) {
    let doing = match found.standing {
        Standing::Claimed { .. } => Doing::only(Happened::Started),
        Standing::Open { progress, .. } => {
            Doing { what: Happened::Started, is_open: true, progress }
        }
        Standing::Waits(_) => Doing::only(Happened::Waiting),
    };
    ((found.job.uid.clone(), attempt_key(&found.attempt)), (found.job, doing))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_work(key: &'static str, progress: Option<&str>) -> (&'static str, Doing) {
        let progress = progress.map(str::to_owned);
        (key, Doing { what: Happened::Started, is_open: true, progress })
    }

    fn seen<const N: usize>(present: [(&str, Happened); N], mark: i64) -> Seen {
        with(present.map(|(key, what)| (key, Doing::only(what))), mark)
    }

    fn with<const N: usize>(present: [(&str, Doing); N], mark: i64) -> Seen {
        let job = |key: &str| JobRef {
            uid: key.to_owned(),
            collection_uid: "c".to_owned(),
            key: key.to_owned(),
        };
        let present = present
            .into_iter()
            .map(|(key, doing)| ((key.to_owned(), String::new()), (job(key), doing)))
            .collect();
        let mark = CollectionMark { journal_at: DateTime::from_timestamp(mark, 0) };
        Seen { present, marks: [("c".to_owned(), mark)].into() }
    }

    #[test]
    fn what_is_new_gone_or_changed_is_told() {
        use Happened::{Changed, Ended, Started, Waiting};
        let before = seen([("a", Started), ("b", Waiting), ("c", Started)], 1);
        let told = |now: &Seen| {
            let mut told: Vec<_> =
                now.since(&before).into_iter().map(|event| (event.what, event.job)).collect();
            told.sort_by_key(|(what, job)| (job.clone(), what.name()));
            told
        };
        let job = |key: &str| Some(key.to_owned());
        assert_eq!(told(&seen([("a", Started), ("b", Waiting), ("c", Started)], 1)), []);
        assert_eq!(
            told(&seen([("a", Started), ("b", Started), ("d", Waiting)], 2)),
            [(Changed, None), (Started, job("b")), (Ended, job("c")), (Waiting, job("d"))]
        );
    }

    #[test]
    fn an_open_attempt_changes_when_its_target_says_how_far_it_is() {
        let [started, opened, half, done] = [
            seen([("a", Happened::Started)], 1),
            with([at_work("a", None)], 1),
            with([at_work("a", Some("50 %"))], 1),
            seen([], 1),
        ];
        let told = |now: &Seen, before: &Seen| -> Vec<_> {
            now.since(before).into_iter().map(|event| event.what).collect()
        };
        assert_eq!(told(&opened, &started), [Happened::Changed]);
        assert_eq!(told(&opened, &opened), []);
        assert_eq!(told(&half, &opened), [Happened::Changed]);
        assert_eq!(told(&done, &half), [Happened::Ended]);
    }
}
