//! `wall`: what became of the occurrences of each collection in the last hours, and what is due.

use chrono::{DateTime, TimeDelta, Utc};
use clap::Args;
use console::truncate_str;
use minutehand_client::{WallAnswer, WallCollection, WallRunning, WallStarts};
use minutehand_recurrence::format_instant;
use serde_json::{Value, json};

use crate::at_server::ServerCommand;
use crate::failure::Result;
use crate::input;
use crate::output::marks::sign;
use crate::output::plural;
use crate::output::screen::Screen;
use crate::output::table::{Layout, Table};
use crate::output::times::{Times, read, span_text};
use crate::repeat::Repeat;
use crate::work::Work;

/// How many hours back and ahead the server answers, and how many if none are named.
const BACK_MAX: u32 = 168;
const BACK: u32 = 18;
const AHEAD_MAX: u32 = 24;
const AHEAD: u32 = 6;
/// The quarters of an hour.
const QUARTERS: u32 = 4;
const QUARTER: TimeDelta = TimeDelta::minutes(15);
/// How wide a name is at most, and what is said of a row, on a terminal.
const NAME_MAX: usize = 18;
const SAID: usize = 12;
/// How many quarters a sign may stand for, in the order in which they are tried.
const STEPS: [usize; 6] = [1, 2, 4, 8, 16, 32];
/// From few to many.
const BLOCKS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
const DIGITS: [&str; 8] = ["1", "2", "3", "4", "5", "6", "7", "8"];
/// How many attempts that run are named, and how many quarters with trouble an assistant gets of a collection.
const RUNNING_MAX: usize = 5;
const TROUBLED_MAX: usize = 20;

/// The arguments of `wall`.
#[derive(Debug, Args)]
pub struct WallArgs {
    #[command(flatten)]
    hours: Hours,
    #[command(flatten)]
    repeat: Repeat,
}

/// The hours that a wall shows.
#[derive(Debug, Args)]
pub(crate) struct Hours {
    /// Hours back, 1 to 168 [default: 18]
    #[arg(long, value_name = "HOURS", value_parser = back, allow_negative_numbers = true)]
    back: Option<u32>,
    /// Hours ahead, 0 to 24 [default: 6]
    #[arg(long, value_name = "HOURS", value_parser = ahead, allow_negative_numbers = true)]
    ahead: Option<u32>,
}

impl Hours {
    /// As the server is asked.
    pub(crate) fn asked(&self) -> [u32; 2] {
        [self.back.unwrap_or(BACK), self.ahead.unwrap_or(AHEAD)]
    }
}

fn back(text: &str) -> std::result::Result<u32, String> {
    input::within(text, &(1..=BACK_MAX))
}

fn ahead(text: &str) -> std::result::Result<u32, String> {
    input::within(text, &(0..=AHEAD_MAX))
}

impl ServerCommand for WallArgs {
    async fn run(self, work: Work) -> Result<()> {
        let hours = self.hours.asked();
        let look = async |work: &Work| {
            let subscription = &work.defaults().place.subscription;
            let found = work.client().wall(subscription, hours).await?;
            match &work.json {
                Some(json) => json.document(&work.screen, &found.text),
                None => show(work, &found.value, hours),
            }
        };
        self.repeat.run(work, look).await
    }
}

/// What became of some occurrences. A list without numbers stands for zeros.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Became {
    ok: u64,
    retried: u64,
    late: u64,
    failed: u64,
    skipped: u64,
}

impl Became {
    /// Of the quarters from one on, before another one.
    fn of(row: &WallCollection, [from, to]: [usize; 2]) -> Self {
        let sum = |all: &[u64]| all.iter().take(to).skip(from).sum();
        let counted = |all: &Option<Vec<u64>>| all.as_deref().map_or(0, sum);
        Self {
            ok: sum(&row.ok),
            retried: counted(&row.retried),
            late: counted(&row.late),
            failed: sum(&row.failed),
            skipped: sum(&row.skipped),
        }
    }

    const fn fine(self) -> u64 {
        self.ok + self.retried + self.late
    }

    const fn all(self) -> u64 {
        self.fine() + self.failed + self.skipped
    }

    /// The letter of the worst that happened, as in the results of a job.
    const fn letter(self) -> Option<char> {
        match self {
            Self { failed: 1.., .. } => Some('f'),
            Self { late: 1.., .. } => Some('l'),
            Self { retried: 1.., .. } => Some('r'),
            Self { skipped: 1.., .. } => Some('s'),
            _ => None,
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            ok: self.ok + other.ok,
            retried: self.retried + other.retried,
            late: self.late + other.late,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
        }
    }
}

/// The quarters that a sign each stands for: those of now end with the one that is not over, and what is due begins
/// in its rest.
struct Signs {
    past: Vec<[usize; 2]>,
    ahead: Vec<[usize; 2]>,
}

impl Signs {
    fn of([back, ahead]: [u32; 2], width: usize) -> Self {
        let quarters = |hours: u32| usize::try_from(hours * QUARTERS).unwrap_or_default();
        let past = quarters(back) + 1;
        let ahead = if ahead == 0 { 0 } else { quarters(ahead) + 1 };
        let wide = |step: usize| past.div_ceil(step) + ahead.div_ceil(step) + 1;
        let step = STEPS.into_iter().find(|step| wide(*step) <= width).unwrap_or(STEPS[5]);
        let mut signs = Self { past: Vec::new(), ahead: Vec::new() };
        let mut end = past;
        while end > 0 {
            signs.past.insert(0, [end.saturating_sub(step), end]);
            end = end.saturating_sub(step);
        }
        signs.ahead.extend((0..ahead).step_by(step).map(|from| [from, from + step]));
        signs
    }
}

fn due(row: &WallCollection, [from, to]: [usize; 2]) -> u64 {
    row.due.iter().take(to).skip(from).sum()
}

fn show(work: &Work, wall: &WallAnswer, hours: [u32; 2]) -> Result<()> {
    let rows = &wall.collections.items;
    let Layout::Terminal { width } = work.screen.layout else {
        return lines(work, wall);
    };
    if rows.is_empty() {
        work.screen.hint("no collections; `minutehand job create` makes the first one");
        return Ok(());
    }
    let names: Vec<String> =
        rows.iter().map(|row| truncate_str(&name(work, row), NAME_MAX, "…").into_owned()).collect();
    let wide = names.iter().map(|name| console::measure_text_width(name)).max().unwrap_or(0);
    let signs = Signs::of(hours, width.saturating_sub(wide + SAID + 4));
    for line in head(work, wall, hours) {
        work.screen.sentences(&line)?;
    }
    let screen = &work.screen;
    let axis = axis(&work.times(None), wall, (signs.past.len(), signs.ahead.len()));
    screen.line(&screen.dim(&format!("{:wide$}  {axis}", "")))?;
    for (row, name) in rows.iter().zip(&names) {
        let line = format!("{name:wide$}  {}  {}", drawn(screen, row, &signs), said(screen, row));
        screen.line(&screen.cut(line.trim_end()))?;
    }
    let [few, .., many] = if screen.ascii { DIGITS } else { BLOCKS };
    let legend = ["f failed", "l late", "r retried", "s skipped"].map(|words| {
        let (letter, rest) = words.split_at(1);
        let letter = letter.chars().next().unwrap_or_default();
        format!("{}{rest}", sign(screen, letter))
    });
    screen.line(&format!("{}  {few} few {many} many", legend.join("  ")))
}

/// When the first quarter begins, and where now is.
fn axis(times: &Times, wall: &WallAnswer, (past, ahead): (usize, usize)) -> String {
    let from = times.written(&wall.from);
    let now = "now";
    let gap = past.saturating_sub(from.chars().count() + now.len()).max(1);
    let after = if ahead > 0 { "│ due" } else { "│" };
    format!("{from}{:gap$}{now}{after}", "")
}

/// The signs of a row.
fn drawn(screen: &Screen, row: &WallCollection, signs: &Signs) -> String {
    let past: Vec<Became> = signs.past.iter().map(|at| Became::of(row, *at)).collect();
    let due: Vec<u64> = signs.ahead.iter().map(|at| due(row, *at)).collect();
    let most = past.iter().map(|it| it.all()).chain(due.iter().copied()).max().unwrap_or_default();
    let mut line = String::new();
    for became in past {
        line.push_str(&match became.letter() {
            Some(letter) => sign(screen, letter),
            None => screen.good(block(became.ok, most, screen.ascii)),
        });
    }
    line.push_str(&screen.bold("│"));
    for due in due {
        line.push_str(&screen.dim(block(due, most, screen.ascii)));
    }
    line
}

/// The sign of a count: what is not nothing does not look like nothing.
fn block(count: u64, most: u64, ascii: bool) -> &'static str {
    let signs = if ascii { &DIGITS } else { &BLOCKS };
    let level = usize::try_from((count * 8).div_ceil(most.max(1))).unwrap_or(usize::MAX);
    level.checked_sub(1).and_then(|level| signs.get(level)).copied().unwrap_or(" ")
}

/// What is to be said of a row first.
fn said(screen: &Screen, row: &WallCollection) -> String {
    let sums = Became::of(row, [0, usize::MAX]);
    if row.state != "Enabled" {
        return screen.warn("off");
    }
    if sums.failed > 0 {
        return screen.bad(&format!("{} failed", sums.failed));
    }
    if sums.skipped > 0 {
        return screen.warn(&format!("{} skipped", sums.skipped));
    }
    if sums.all() == 0 { "nothing".to_owned() } else { format!("{} fine", sums.fine()) }
}

/// The lines above the rows.
fn head(work: &Work, wall: &WallAnswer, [back, _]: [u32; 2]) -> Vec<String> {
    let rows = &wall.collections.items;
    let sums =
        rows.iter().fold(Became::default(), |all, row| all.plus(Became::of(row, [0, usize::MAX])));
    let all = usize::try_from(sums.all()).unwrap_or(usize::MAX);
    let collections = usize::try_from(wall.collections.all).unwrap_or(usize::MAX);
    let mut parts = vec![
        plural(all, "occurrence"),
        format!("in {back} h of {}", plural(collections, "collection")),
    ];
    for (count, word) in [(sums.failed, "failed"), (sums.skipped, "left out")] {
        if count > 0 {
            parts.push(format!(", {count} {word}"));
        }
    }
    if let Some(starts) = wall.starts {
        let (bound, ms) = match starts {
            WallStarts::WithinMs(ms) => ("at most", ms),
            WallStarts::OverMs(ms) => ("more than", ms),
        };
        let span = span_text(TimeDelta::milliseconds(ms));
        parts.push(format!("; 99 of 100 start {bound} {span} late"));
    }
    let mut lines = vec![parts.join(" ").replace(" ,", ",").replace(" ;", ";")];
    if !wall.is_counted {
        lines.push(
            "computed of what was due and what failed: retries and delays are not counted"
                .to_owned(),
        );
    }
    if !(wall.is_past_whole && wall.is_ahead_whole) {
        lines.push(work.screen.warn("not everything was looked at: there may be more"));
    }
    if rows.len() < collections {
        lines.push(format!("{} are shown", plural(rows.len(), "collection")));
    }
    let running = wall.running.as_deref().unwrap_or_default();
    for one in running.iter().take(RUNNING_MAX) {
        lines.push(runs(work, one));
    }
    if running.len() > RUNNING_MAX {
        lines.push(format!("and {} more run", running.len() - RUNNING_MAX));
    }
    lines
}

fn runs(work: &Work, one: &WallRunning) -> String {
    let path = work.defaults().in_group(&one.resource_group, &one.collection);
    let usual = one.took_ms.map(|ms| format!(", last {}", span_text(TimeDelta::milliseconds(ms))));
    let passed = read(&one.since).map(|since| span_text(work.now() - since)).unwrap_or_default();
    let name = work.defaults().short_job(&path.job(&one.job));
    format!("{name} runs for {passed}{}", usual.unwrap_or_default())
}

/// A row a collection for a program: its name, what became of its occurrences, and how many are due.
fn lines(work: &Work, wall: &WallAnswer) -> Result<()> {
    let titles = ["collection", "state", "ok", "retried", "late", "failed", "skipped", "due"];
    let mut table = Table::new(&titles);
    for row in &wall.collections.items {
        let sums = Became::of(row, [0, usize::MAX]);
        let counted = |is: bool, n: u64| if is { n.to_string() } else { String::new() };
        table.row(vec![
            name(work, row),
            row.state.clone(),
            sums.ok.to_string(),
            counted(row.retried.is_some(), sums.retried),
            counted(row.late.is_some(), sums.late),
            sums.failed.to_string(),
            sums.skipped.to_string(),
            row.due.iter().sum::<u64>().to_string(),
        ]);
    }
    work.screen.table(&table)
}

/// The name of a collection, as short as commands take it.
fn name(work: &Work, row: &WallCollection) -> String {
    let path = work.defaults().in_group(&row.resource_group, &row.collection);
    work.defaults().short_collection(&path)
}

/// What an assistant gets of a wall: sums, and the quarters in which not all went well, the newest first.
pub(crate) fn sums(work: &Work, wall: &WallAnswer) -> Value {
    let from = read(&wall.from);
    let rows = wall.collections.items.iter().map(|row| {
        let all = Became::of(row, [0, usize::MAX]);
        json!({
            "name": name(work, row), "state": row.state, "jobs": row.jobs,
            "ok": all.ok, "retried": row.retried.as_ref().map(|_| all.retried),
            "late": row.late.as_ref().map(|_| all.late), "failed": all.failed,
            "skipped": all.skipped, "due": row.due.iter().sum::<u64>(),
            "troubled": troubled(row, from),
        })
    });
    json!({
        "from": wall.from,
        "isCounted": wall.is_counted,
        "isWhole": wall.is_past_whole && wall.is_ahead_whole,
        "collections": rows.collect::<Vec<_>>(),
        "more": wall.collections.items.len() as u64 != wall.collections.all,
        "running": wall.running.as_ref().map(|all| {
            all.iter().map(|one| runs(work, one)).collect::<Vec<_>>()
        }),
    })
}

/// The quarters of a row in which not all went well, the newest first.
fn troubled(row: &WallCollection, from: Option<DateTime<Utc>>) -> Vec<Value> {
    let lists = [Some(&row.failed), row.retried.as_ref(), row.late.as_ref(), Some(&row.skipped)];
    let quarters = lists.into_iter().flatten().map(Vec::len).max().unwrap_or_default();
    let mut found = Vec::new();
    for n in (0..quarters).rev() {
        let became = Became::of(row, [n, n + 1]);
        if became.letter().is_none() || found.len() == TROUBLED_MAX {
            continue;
        }
        let steps = i32::try_from(n).unwrap_or_default();
        let at = from.and_then(|from| from.checked_add_signed(QUARTER * steps));
        found.push(json!({
            "quarter": at.map(format_instant), "failed": became.failed, "late": became.late,
            "retried": became.retried, "skipped": became.skipped,
        }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> WallCollection {
        WallCollection {
            resource_group: "dev".to_owned(),
            collection: "ops".to_owned(),
            state: "Enabled".to_owned(),
            jobs: 1,
            ok: vec![1, 0, 8, 4, 0],
            retried: Some(Vec::new()),
            late: None,
            failed: vec![0, 2, 0, 0, 0],
            skipped: vec![0, 0, 0, 1, 0],
            due: vec![0, 8, 0, 0, 1],
        }
    }

    #[test]
    fn a_row_has_the_worst_of_each_sign() {
        let mut screen = Screen::silent();
        screen.layout = Layout::Terminal { width: 80 };
        screen.ascii = true;
        for (width, line) in [(11, "1f8s │ 8  1"), (7, "1fs│7 1"), (5, "1f│51")] {
            let signs = Signs::of([1, 1], width);
            assert_eq!(drawn(&screen, &row(), &signs), line, "{width}");
        }
        let none = Signs::of([1, 0], 20);
        assert_eq!(drawn(&screen, &row(), &none), "1f8s │");
    }

    #[test]
    fn signs_fit_a_terminal_and_end_with_now() {
        for (hours, width, step, signs) in [
            ([18, 6], 99, 1, (73, 25)),
            ([18, 6], 51, 2, (37, 13)),
            ([18, 6], 46, 4, (19, 7)),
            ([168, 24], 46, 32, (22, 4)),
            ([1, 0], 46, 1, (5, 0)),
        ] {
            let found = Signs::of(hours, width);
            assert_eq!((found.past.len(), found.ahead.len()), signs, "{hours:?} {width}");
            let last = found.past.last().unwrap();
            assert_eq!(last[1], usize::try_from(hours[0] * QUARTERS).unwrap() + 1);
            assert_eq!(last[1] - last[0], step.min(last[1]));
        }
    }

    #[test]
    fn an_assistant_gets_the_quarters_with_trouble_the_newest_first() {
        let from = read("2027-03-27T11:15:00Z");
        let found = troubled(&row(), from);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0]["quarter"], "2027-03-27T12:00:00Z");
        assert_eq!((&found[0]["skipped"], &found[1]["failed"]), (&json!(1), &json!(2)));
    }

    #[test]
    fn what_is_not_nothing_is_seen() {
        for (count, most, sign) in [(0, 0, " "), (0, 9, " "), (1, 1_000, "▁"), (1_000, 1_000, "█")]
        {
            assert_eq!(block(count, most, false), sign, "{count}");
        }
    }
}
