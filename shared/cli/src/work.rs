//! What a command for a server has at hand.

use std::time::Duration;

use chrono::{DateTime, Utc};
use minutehand_client::{Client, CollectionPath, Limits, Listed, MeAnswer};
use minutehand_recurrence::zone::Zone;
use serde_json::{Map, Value};

use crate::clock::TestClock;
use crate::context::Session;
use crate::environment::Environment;
use crate::failure::{Failure, Missing, NOT_FOUND, Result};
use crate::options::Options;
use crate::output::json::Json;
use crate::output::screen::Screen;
use crate::output::table::Table;
use crate::output::times::Times;
use crate::reference::Defaults;

/// How often a server on this machine is asked what happens, and any other one.
const EVERY_HERE: Duration = Duration::from_secs(2);
const EVERY_THERE: Duration = Duration::from_secs(10);

/// What a command for a server has at hand.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) session: Session,
    pub(crate) screen: Screen,
    /// `None` if a person reads the output.
    pub(crate) json: Option<Json>,
    pub(crate) environment: Environment,
    pub(crate) utc: bool,
    /// The test clock of a server on this machine.
    test_clock: Option<TestClock>,
    /// Whether spans until now are left out: they change although nothing happens.
    pub(crate) is_still: bool,
}

impl Work {
    /// Asks a server on this machine for its clock.
    pub(crate) async fn ask_for_clock(&mut self) {
        if self.client().server().is_loopback() {
            // A server that does not answer now does not answer the command either, which says so.
            let server = self.client().me().await.ok();
            self.test_clock = server.and_then(|it| TestClock::of(&it, self.environment.now()));
        }
    }

    /// Finds out which server to talk to, without a request.
    pub(crate) fn silent(options: &Options, environment: Environment) -> Result<Self> {
        Self::with_limits(options, environment, Limits::default())
    }

    pub(crate) fn with_limits(
        options: &Options,
        environment: Environment,
        limits: Limits,
    ) -> Result<Self> {
        Ok(Self {
            session: Session::open(options, &environment, limits)?,
            screen: Screen::new(options, &environment),
            json: Json::wanted(options),
            environment,
            utc: options.utc,
            test_clock: None,
            is_still: false,
        })
    }

    /// Works with a server in this process, which has said what it shows and allows. Nothing is printed.
    pub(crate) fn within(
        client: Client,
        defaults: Defaults,
        environment: Environment,
        me: &MeAnswer,
    ) -> Self {
        Self {
            session: Session { client, defaults, context: None },
            screen: Screen::silent(),
            json: None,
            environment,
            utc: true,
            test_clock: TestClock::of(me, environment.now()),
            is_still: false,
        }
    }

    /// How long to wait between two looks at what happens.
    pub(crate) fn every(&self) -> Duration {
        if self.client().server().is_loopback() { EVERY_HERE } else { EVERY_THERE }
    }

    pub(crate) fn client(&self) -> &Client {
        &self.session.client
    }

    pub(crate) fn defaults(&self) -> &Defaults {
        &self.session.defaults
    }

    pub(crate) fn now(&self) -> DateTime<Utc> {
        let now = self.environment.now();
        self.test_clock.map_or(now, |clock| clock.at(now))
    }

    /// Prints what was done: as JSON if that is wanted, else as a sentence.
    pub(crate) fn tell(&self, json: &str, sentence: &str) -> Result<()> {
        match &self.json {
            Some(wanted) => wanted.document(&self.screen, json),
            None => self.screen.line(sentence),
        }
    }

    /// Prints a list: as the server sent it if JSON is wanted, else as a table. Without items it hints
    /// at `nothing`.
    pub(crate) fn list<T>(
        &self,
        listed: &[Listed<T>],
        nothing: &str,
        titles: &[&'static str],
        row: impl Fn(&T) -> Vec<String>,
    ) -> Result<()> {
        if let Some(json) = &self.json {
            return json.list(&self.screen, listed.iter().map(|item| item.text.as_str()));
        }
        if listed.is_empty() {
            self.screen.hint(nothing);
            return Ok(());
        }
        let mut table = Table::new(titles);
        for item in listed {
            table.row(row(&item.value));
        }
        self.screen.table(&table)
    }

    /// Writes instants in a zone, unless UTC is asked for.
    pub(crate) fn times(&self, zone: Option<Zone>) -> Times {
        Times { now: self.now(), zone: zone.filter(|_| !self.utc), is_still: self.is_still }
    }
}

/// The time zone that a collection gives to its jobs, by its properties; `None` means UTC.
pub(crate) fn zone_of_collection(properties: &Map<String, Value>) -> Option<Zone> {
    Zone::named(properties.get("minutehand")?.get("timeZone")?.as_str()?)
}

/// That a collection does not exist.
pub(crate) fn no_collection(work: &Work, path: &CollectionPath) -> Failure {
    let name = work.defaults().short_collection(path);
    let missing = Some(Box::new(Missing { collection: path.clone(), job: None }));
    let failure = Failure::new(NOT_FOUND, format!("there is no collection '{name}'"));
    let failure = Failure { missing, ..failure };
    if work.defaults().is_default_collection(path) {
        failure.hint("`minutehand job create` creates it with its first job")
    } else {
        failure.hint(format!(
            "`minutehand collection list` lists them; `minutehand collection create {name}` creates it"
        ))
    }
}

/// Why a call for a collection, or for its jobs, failed.
pub(crate) fn in_collection(
    work: &Work,
    path: &CollectionPath,
) -> impl Fn(minutehand_client::Error) -> Failure {
    move |error| {
        if is_collection_missing(&error) { no_collection(work, path) } else { error.into() }
    }
}

/// Whether a call was refused because the collection does not exist.
pub(crate) fn is_collection_missing(error: &minutehand_client::Error) -> bool {
    error.refusal().is_some_and(|refusal| refusal.code == "ResourceNotFound")
}

/// The time zone of a job, by its properties; `None` means UTC.
pub(crate) fn zone_of(properties: &Map<String, Value>) -> Option<Zone> {
    let name = properties.get("recurrence")?.get("timeZone")?.as_str()?;
    Zone::named(name)
}
