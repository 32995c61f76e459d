//! What the commands print: on terminals of two widths, and into a pipe.
//!
//! `UPDATE_TABLES=1 cargo test -p minutehand --test cli tables` writes the files anew.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use minutehand_domain::work_item::WorkItem;
use tempfile::TempDir;

use crate::standing::Standing;
use crate::terminal::{on_terminal_at, plain};
use crate::world::{at_home, run, words};

const CREATED: &str = "2027-03-01T12:00:00Z";
const CHANGED: &str = "2027-03-01T12:40:00Z";
const LOOKED: &str = "2027-03-01T13:10:30Z";

/// What makes the jobs that the tables show.
const MAKE: &[&str] = &[
    "collection create ops --zone Europe/Berlin",
    "collection set ops tags.team=shop quota.maxJobCount=50",
    "collection create billing",
    "job create ops/report --at 09:00 --on mon-fri --zone Europe/Berlin \
     --url https://example.com/report --retry 5",
    "job create ops/nightly --at 02:30 --daily --zone Europe/Berlin --url https://example.com/night",
    "job create ops/ping --every 10m --url https://example.com/ping",
    "job create ops/broken --every 30m --url https://example.com/export --method POST --retry 1",
    "job create ops/off --every 1h --url https://example.com/off --disabled",
    "job create ops/once --at '2027-03-01 13:30' --once --url https://example.com/once",
    "job create billing/month-end --cron '30 2 28 * *' --url https://example.com/month-end",
];

/// What changes them later.
const CHANGE: &[&str] = &[
    "job set ops/report recurrence.schedule.hours=[8]",
    "job disable ops/nightly",
    "job enable ops/nightly",
    "collection disable billing",
];

/// What is shown.
const SHOWN: &[&str] = &[
    "collection list",
    "collection show ops",
    "collection show billing",
    "collection load ops --from 2027-03-02T00:00Z --to 2027-03-02T03:00Z",
    "job list ops",
    "job list ops --utc --by next --limit 3",
    "job list ops --failing --ascii",
    "job list billing",
    "job show ops/report",
    "job show ops/broken",
    "job show ops/once",
    "job show billing/month-end",
    "job next ops/report --limit 3",
    "job next ops/nightly --from 2027-03-27T12:00Z --limit 3",
    "job next ops/off",
    "job history ops/broken --limit 5",
    "job history ops/broken --failed --limit 1",
    "job history ops/off",
    "job why ops/ping 2027-03-01T12:20Z",
    "job why ops/broken 2027-03-01T13:00Z",
    "job why ops/report 2027-02-26T08:00Z",
    "job why ops/report 2027-03-01T12:10Z",
    "job why ops/off 2027-03-01T13:00Z",
    "job why billing/month-end 2027-03-28T02:30Z",
    "failures",
    "failures ops/broken --limit 1",
    "failures billing",
    "journal ops --limit 4",
    "journal ops/report",
    "calendar --week 2027-W12 --zone Europe/Berlin",
    "calendar ops --week 2027-W12 --step 3h --ascii",
    "calendar ops --week 2027-W12 --step 15m",
    "wall",
    "wall --back 2 --ahead 1 --ascii",
    "top --once",
    "dead list",
    "dead show 1",
    "context list",
    "context show prod",
];

struct World {
    server: Standing,
    home: TempDir,
}

impl World {
    fn new() -> Self {
        let world = Self { server: Standing::at(CREATED), home: tempfile::tempdir().unwrap() };
        for line in MAKE {
            world.must(line);
        }
        world.server.until(CHANGED);
        for line in CHANGE {
            world.must(line);
        }
        world.server.until(LOOKED);
        world.server.bury(WorkItem::PurgeCollection { collection_uid: "gone".to_owned() });
        world.must(
            "context add prod --server https://example.com --collection ops \
             --token-command 'pass show minutehand/prod'",
        );
        world
    }

    fn url(&self) -> String {
        format!("http://{}", self.server.address)
    }

    fn command(&self, line: &str) -> Command {
        let mut command = at_home(self.home.path());
        command.env("MINUTEHAND_URL", self.url()).args(words(line));
        command
    }

    fn must(&self, line: &str) -> String {
        let ended = run(&mut self.command(line), "");
        assert_eq!(ended.code, Some(0), "{line}: {ended:?}");
        ended.out + &ended.err
    }

    fn on_terminal(&self, columns: usize, line: &str) -> String {
        let ended = on_terminal_at(self.home.path(), &self.url(), columns, line, "");
        assert_eq!(ended.code, Some(0), "{line}: {ended:?}");
        plain(&ended.out)
    }
}

#[track_caller]
fn compare(name: &str, now: &str) {
    let path = PathBuf::from(format!("{}/tests/cli/tables-{name}.txt", env!("CARGO_MANIFEST_DIR")));
    if std::env::var_os("UPDATE_TABLES").is_some() {
        fs::write(&path, now).unwrap();
    }
    let before = fs::read_to_string(&path).unwrap_or_default();
    let mut lines = now.lines().zip(before.lines().chain(std::iter::repeat("")));
    let differs = lines.find(|(now, before)| now != before);
    let path = path.display();
    assert_eq!(differs, None, "a table has changed: UPDATE_TABLES=1 writes {path}");
    assert_eq!(now.lines().count(), before.lines().count(), "{path}");
}

#[test]
fn every_table_is_as_it_was() {
    let world = World::new();
    let shown = |show: &dyn Fn(&str) -> String| -> String {
        let mut all = String::new();
        for line in SHOWN {
            all.extend(["$ minutehand ", line, "\n", &show(line), "\n"]);
        }
        all
    };
    for columns in [80, 200] {
        let now = shown(&|line| world.on_terminal(columns, line));
        // A sentence goes on in the next line of the terminal; a row of a table would be torn.
        let is_row = |line: &&str| !line.starts_with("$ ") && line.contains("  ");
        let wide = now.lines().filter(is_row).find(|line| line.chars().count() > columns);
        compare(&columns.to_string(), &now);
        assert_eq!(wide, None, "at {columns} columns");
    }
    compare("pipe", &shown(&|line| world.must(line)));
}
