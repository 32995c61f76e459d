//! The costs in `shared/docs/aws-costs.md`, computed from counts and list prices.
//!
//! The counts of units are those that `make bench` measures and prints, and `store-dynamodb` has a test
//! for each of their parts. The requests follow from how messages are sent and batched. What is assumed
//! stands in [`ASSUMED`]. `cargo nextest run -p minutehand-tests costs --no-capture` prints everything.

use std::fmt::Write as _;

use chrono::DateTime;
use minutehand_domain::attempt::{Attempt, Occurrence};
use minutehand_domain::history_days::HistoryDays;
use minutehand_domain::work_item::{JobRef, PACKET_ATTEMPTS_MAX, WorkItem, pack};
use minutehand_runtime_aws::Metric;

/// List prices of us-east-1, in USD.
mod price {
    pub(super) const WRITE_UNIT: f64 = 0.625 / MILLION;
    pub(super) const READ_UNIT: f64 = 0.125 / MILLION;
    pub(super) const PROVISIONED_WRITE_HOUR: f64 = 0.00065;
    pub(super) const PROVISIONED_READ_HOUR: f64 = 0.00013;
    pub(super) const STORED_GB_MONTH: f64 = 0.25;
    pub(super) const RECOVERY_GB_MONTH: f64 = 0.20;
    pub(super) const LAMBDA_REQUEST: f64 = 0.20 / MILLION;
    pub(super) const LAMBDA_GB_SECOND: f64 = 0.000_013_333_4;
    pub(super) const SQS_REQUEST: f64 = 0.40 / MILLION;
    pub(super) const EVENT: f64 = 1.00 / MILLION;
    pub(super) const LOG_GB: f64 = 0.50;
    pub(super) const METRIC: f64 = 0.30;
    pub(super) const ALARM: f64 = 0.10;
    pub(super) const KEY: f64 = 1.00;
    pub(super) const TRANSFER_GB: f64 = 0.09;
    pub(super) const S3_WRITE: f64 = 5.00 / MILLION;
    pub(super) const S3_READ: f64 = 0.40 / MILLION;
    pub(super) const S3_GB_MONTH: f64 = 0.023;
    pub(super) const MILLION: f64 = 1_000_000.0;
}
use price::MILLION;

/// What no test measures.
struct Assumed {
    /// How long an invocation of the executor waits for its instant and for the target.
    waits_seconds: f64,
    /// How long it works: for the invocation, and for each attempt.
    works_seconds: (f64, f64),
    executor_gb: f64,
    /// The part of provisioned units that is used.
    use_of_units: f64,
    log_line_kb: f64,
    history_kb: f64,
    history_months: f64,
    request_kb: f64,
    sweeper_seconds: f64,
    sweeper_gb: f64,
    receives_a_minute: f64,
    /// The shards of the table's stream.
    stream_shards: f64,
    archiver_gb: f64,
    /// How long an invocation of the archiver takes, and an execution in it.
    archiver_seconds: (f64, f64),
    archived_kb: f64,
    /// Read units for each job of a backup: its timer, and its share of a page of definitions.
    backup_units: f64,
    backup_seconds: f64,
    backup_kb: f64,
}

const ASSUMED: Assumed = Assumed {
    waits_seconds: 0.3,
    works_seconds: (0.05, 0.01),
    executor_gb: 0.125,
    use_of_units: 0.7,
    log_line_kb: 0.4,
    history_kb: 0.9,
    history_months: 2.0,
    request_kb: 1.5,
    sweeper_seconds: 0.1,
    sweeper_gb: 0.25,
    receives_a_minute: 15.0,
    stream_shards: 4.0,
    archiver_gb: 0.25,
    archiver_seconds: (0.3, 0.000_5),
    archived_kb: 0.22,
    backup_units: 1.25,
    backup_seconds: 0.001_1,
    backup_kb: 0.17,
};

const TICKS: f64 = 43_200.0;
const SHARDS: f64 = 64.0;
/// The metrics that alarms watch, each of which is charged for as an alarm.
const ALARMS: f64 = 10.0;
const ALARMS_OF_ARCHIVE: f64 = 4.0;
/// The letters by which a day of the archive is sorted.
const LETTERS: f64 = 16.0;
/// Batches of a shard in 30 days, if something fires in every five minutes.
const ARCHIVE_BATCHES: f64 = 12.0 * 24.0 * 30.0;
/// Two for each way of table and index raise the units, and two lower them.
const ALARMS_OF_SCALING: f64 = 16.0;

/// The counts of a firing in packets, or alone.
struct Counts {
    /// How many attempts an invocation has.
    attempts: f64,
    writes: f64,
    reads: f64,
    sqs_requests: f64,
}

/// What SQS bills as one request.
const SQS_CHUNK: usize = 64 * 1024;
/// Messages of a request to SQS.
const SQS_BATCH: f64 = 10.0;
/// Attempts of a minutely job that a pass dispatches together, if messages are full, and if not.
const PLANNED: [f64; 2] = [14.0, 12.0];

/// The columns of the table: minutely, hourly and one-time, each in packets of so many and alone.
fn columns(packet: f64) -> [Counts; 6] {
    // A claim, a record and a count, what a fortieth of the counts stores, and the move of the timer:
    // with each plan, each hour.
    let firing = 3.0 + 1.0 / 40.0;
    let [in_full, alone] = PLANNED;
    let in_packets = if packet < full() { alone } else { in_full };
    let minutely = |planned| firing + 3.0 / planned;
    let (hourly, one_time) = (firing + 3.0, 9.0);
    // With the timer, what was sent before is looked up: some twenty attempts, or one.
    let (some, one) = (|planned| 2.5 / planned, 0.5);
    // A message is received and deleted in a request each. The messages of a pass are sent together.
    let (sent, single) = (|planned: f64| (planned / SQS_BATCH).ceil() / planned, 1.0);
    let counts = |attempts: f64, writes, reads: f64, sent: f64| {
        // An invocation looks which origins hang.
        let reads = reads + 0.5 / attempts;
        let sqs_requests = (2.0 + sent) / attempts;
        Counts { attempts, writes, reads, sqs_requests }
    };
    [
        counts(packet, minutely(in_packets), 1.71 + some(in_packets), sent(in_packets)),
        counts(1.0, minutely(alone), 2.5 + some(alone), sent(alone)),
        counts(packet, hourly, 1.68 + one, single),
        counts(1.0, hourly, 2.5 + one, single),
        counts(packet, one_time, 3.70, single),
        counts(1.0, one_time, 4.5, single),
    ]
}

/// As many attempts as a packet may have.
fn full() -> f64 {
    f64::from(u32::try_from(PACKET_ATTEMPTS_MAX).unwrap())
}

/// The USD of a million firings.
struct Costs {
    rows: [f64; 7],
    provisioned: f64,
}

const ROWS: [&str; 7] = [
    "table, writes",
    "table, reads",
    "queue",
    "executor",
    "logs",
    "history for 60 days",
    "its recovery",
];

impl Costs {
    fn of(counts: &Counts) -> Self {
        let writes = counts.writes * price::WRITE_UNIT;
        let reads = counts.reads * price::READ_UNIT;
        let invocations = 1.0 / counts.attempts;
        let gb_seconds = invocations * invocation_seconds(counts.attempts) * ASSUMED.executor_gb;
        let executor = invocations * price::LAMBDA_REQUEST + gb_seconds * price::LAMBDA_GB_SECOND;
        let gb = |kb: f64| kb / MILLION;
        let history = gb(ASSUMED.history_kb) * ASSUMED.history_months;
        let rows = [
            writes,
            reads,
            counts.sqs_requests * price::SQS_REQUEST,
            executor,
            invocations * gb(ASSUMED.log_line_kb) * price::LOG_GB,
            history * price::STORED_GB_MONTH,
            history * price::RECOVERY_GB_MONTH,
        ]
        .map(|usd| usd * MILLION);
        let an_hour = 3_600.0 * ASSUMED.use_of_units;
        let units = counts.writes * price::PROVISIONED_WRITE_HOUR / an_hour
            + counts.reads * price::PROVISIONED_READ_HOUR / an_hour;
        let others: f64 = rows.iter().skip(2).sum();
        Self { rows, provisioned: others + units * MILLION }
    }

    fn sum(&self) -> f64 {
        self.rows.iter().sum()
    }
}

/// How long an invocation with so many attempts takes.
fn invocation_seconds(attempts: f64) -> f64 {
    let (once, each) = ASSUMED.works_seconds;
    ASSUMED.waits_seconds + once + each * attempts
}

/// A row of a table in Markdown.
fn row(name: &str, values: impl IntoIterator<Item = f64>, strong: &str) -> String {
    let mut line = format!("| {strong}{name}{strong} |");
    for usd in values {
        let _ = if usd > 0.0 {
            write!(line, " {strong}{usd:.2}{strong} |")
        } else {
            write!(line, " |")
        };
    }
    line
}

/// The rows about a million firings.
fn firing() -> Vec<String> {
    let costs = columns(full()).map(|counts| Costs::of(&counts));
    let mut rows: Vec<String> = ROWS
        .iter()
        .enumerate()
        .map(|(n, name)| row(name, costs.iter().map(|it| it.rows[n]), ""))
        .collect();
    rows.push(row("sum on demand", costs.iter().map(Costs::sum), "**"));
    rows.push(row("sum with provisioned units", costs.iter().map(|it| it.provisioned), "**"));
    rows
}

/// The costs of an idle month: all of them, and those that no free tier covers.
struct Idle {
    rows: Vec<(&'static str, f64, bool)>,
}

impl Idle {
    fn new() -> Self {
        let sweeper = TICKS
            * (price::LAMBDA_REQUEST
                + ASSUMED.sweeper_seconds * ASSUMED.sweeper_gb * price::LAMBDA_GB_SECOND);
        let rows = vec![
            ("`Table`, its index", TICKS * SHARDS * 0.5 * price::READ_UNIT, false),
            ("`Table`, its item of pulses", TICKS * (price::WRITE_UNIT + price::READ_UNIT), false),
            ("`SweeperFunction`", sweeper, true),
            ("`Deliveries`, `Queue`", TICKS * ASSUMED.receives_a_minute * price::SQS_REQUEST, true),
            ("`Key`", price::KEY, false),
            ("metrics", price::METRIC, true),
            ("alarms on ten metrics", ALARMS * price::ALARM, true),
            (
                "`ApiLog`, `SweeperLog`, `ExecutorLog`, `AccessLog`",
                { TICKS * ASSUMED.log_line_kb / MILLION * price::LOG_GB },
                true,
            ),
        ];
        Self { rows }
    }

    fn sum(&self, is_free_tier: bool, is_own_key: bool) -> f64 {
        let paid = self.rows.iter().filter(|(name, _, is_free)| {
            !(is_free_tier && *is_free || is_own_key && *name == "`Key`")
        });
        paid.map(|(_, usd, _)| usd).sum()
    }
}

fn page() -> String {
    read("shared/docs/aws-costs.md")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(format!("{}/../{path}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

#[track_caller]
fn contains(page: &str, lines: &[String]) {
    println!("{}", lines.join("\n"));
    for line in lines {
        assert!(page.contains(line.as_str()), "a page needs the line\n{line}");
    }
}

#[test]
fn the_costs_of_a_million_firings_in_the_page_follow_from_counts_and_prices() {
    contains(&page(), &firing());
    // What the project promises of minutely firings.
    let [packets, alone, ..] = columns(full()).map(|counts| Costs::of(&counts));
    for (usd, most) in
        [(packets.sum(), 3.20), (packets.provisioned, 1.90), (alone.provisioned, 3.70)]
    {
        assert!(usd <= most, "{usd} USD a million, and {most} are promised");
    }
}

#[test]
fn the_sentences_of_the_page_about_invocations_follow_from_what_is_assumed() {
    let [ten, ..] = columns(10.0).map(|counts| Costs::of(&counts));
    let second = ASSUMED.executor_gb * price::LAMBDA_GB_SECOND * MILLION;
    contains(
        &page(),
        &[
            format!(
                "in packets of ten {:.2} USD on demand and {:.2} with provisioned units",
                ten.sum(),
                ten.provisioned
            ),
            format!(
                "{:.2} s with one attempt, {:.2} s with {PACKET_ATTEMPTS_MAX}",
                invocation_seconds(1.0),
                invocation_seconds(full())
            ),
            format!(
                "costs {second:.2} USD for each second and million firings if alone, and {:.2} in full packets",
                second / full()
            ),
        ],
    );
}

#[test]
fn what_fewer_days_of_history_save_follows_from_sizes_and_prices() {
    let columns = columns(full()).map(|counts| Costs::of(&counts));
    let [packets, alone, ..] = &columns;
    let sixty = packets.rows[5] + packets.rows[6];
    let months = |days: HistoryDays| f64::from(days.days()) / 30.0;
    let of = |days| sixty * months(days) / ASSUMED.history_months;
    assert!((months(HistoryDays::default()) - ASSUMED.history_months).abs() < f64::EPSILON);
    let [seven, fifteen, thirty, _] = HistoryDays::ALL.map(of);
    let saved = sixty - seven;
    contains(
        &page(),
        &[
            format!(
                "of 30, 15 and 7 saves {:.2}, {:.2} and {saved:.2}. ",
                sixty - thirty,
                sixty - fifteen
            ),
            format!(
                "firing costs {:.2} USD in packets on demand, and with provisioned units {:.2} in packets \
                 and {:.2} alone",
                packets.sum() - saved,
                packets.provisioned - saved,
                alone.provisioned - saved
            ),
        ],
    );
    for (path, to) in
        [("infra/README.md", " firings](../shared/docs/"), ("shared/docs/aws-parameters.md", "](")]
    {
        let said =
            format!("7 saves [{saved:.2} USD a million{to}aws-costs.md#per-million-firings)");
        contains(&read(path), &[said]);
    }
}

/// A request with ten full packets is billed as one.
#[test]
fn ten_full_packets_are_one_billed_request_of_sqs() {
    let due_at = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
    // Identities as long as those that are made, a name of 40 letters, a collection each.
    let work_item = |n: usize| WorkItem::Attempt {
        job: JobRef {
            uid: format!("{n:032}"),
            collection_uid: format!("{n:032}"),
            key: format!("{n:040}"),
        },
        attempt: Attempt::first(1, Occurrence::Scheduled { nominal_at: due_at }),
    };
    let work_items: Vec<_> = (0..PACKET_ATTEMPTS_MAX).map(work_item).collect();
    let packets = pack(work_items.iter().map(|it| (it, due_at)), due_at);
    let [packet] = packets.as_slice() else { panic!("{} packets", packets.len()) };
    let bytes = packet.encode().len();
    println!("a packet of {PACKET_ATTEMPTS_MAX} attempts has {bytes} bytes");
    assert!(10 * bytes <= SQS_CHUNK, "{bytes}");
}

#[test]
fn the_costs_of_an_idle_month_in_the_page_follow_from_counts_and_prices() {
    let (page, idle) = (page(), Idle::new());
    for (name, usd, _) in &idle.rows {
        println!("{name} {usd:.3}");
        let mut lines = page.lines().filter(|line| line.starts_with(&format!("| {name}")));
        let line = lines.next().unwrap_or_else(|| panic!("aws-costs.md has no row {name}"));
        assert!(line.ends_with(&format!(" {usd:.2} |")), "{line}: {usd:.2}");
    }
    let sums = [(false, false), (false, true), (true, false), (true, true)];
    let sums = sums.map(|(tier, own)| idle.sum(tier, own));
    contains(
        &page,
        &[
            format!("| **sum** | | **{:.2}** |", sums[0]),
            format!("| with a key of your own | | {:.2} |", sums[1]),
            format!("| in AWS's free tier | | {:.2} |", sums[2]),
            format!("| in AWS's free tier, with a key of your own | | {:.2} |", sums[3]),
        ],
    );
    let [packets, alone, ..] = columns(full()).map(|counts| Costs::of(&counts));
    contains(
        &read("infra/README.md"),
        &[
            format!(
                "costs {:.2} USD a month, or {:.2} in an account with the free tier and a key",
                sums[0], sums[3]
            ),
            format!(
                "million minutely firings cost {:.2} to {:.2} USD",
                packets.provisioned,
                alone.sum()
            ),
        ],
    );
    // What the project promises.
    for (sum, most) in sums.into_iter().zip([2.80, 1.80, 1.30, 0.30]) {
        assert!(sum <= most, "{sum} USD a month, and {most} are promised");
    }
}

#[test]
fn the_costs_beside_the_sum_in_the_page_follow_from_counts_and_prices() {
    #[expect(clippy::cast_precision_loss, reason = "there are a dozen")]
    let metrics = Metric::published().count() as f64;
    let transfer = ASSUMED.request_kb / MILLION * price::TRANSFER_GB * MILLION;
    let lines = [
        format!("| data transfer | {transfer:.2} a million firings |"),
        format!("| events | {:.2} a million events |", price::EVENT * MILLION),
        format!("| metrics | {:.2} a month |", metrics * price::METRIC),
        format!("| alarms of auto scaling | {:.2} a month |", ALARMS_OF_SCALING * price::ALARM),
    ];
    let page = page();
    for line in &lines {
        let name = line.trim_end_matches('|');
        println!("{line}");
        assert!(page.contains(name), "aws-costs.md needs a row that begins with\n{line}");
    }
}

#[test]
fn the_costs_of_an_archive_in_the_page_follow_from_counts_and_prices() {
    let batches = ARCHIVE_BATCHES * ASSUMED.stream_shards;
    let (once, each) = ASSUMED.archiver_seconds;
    let second = ASSUMED.archiver_gb * price::LAMBDA_GB_SECOND;
    let invocations = batches * (price::LAMBDA_REQUEST + once * second);
    let sorting = batches * price::S3_READ + 30.0 * LETTERS * price::S3_WRITE;
    let stored = ASSUMED.archived_kb / MILLION * price::S3_GB_MONTH * MILLION;
    let job = ASSUMED.backup_units * price::READ_UNIT + ASSUMED.backup_seconds * second;
    // As many as are kept, and those that come back.
    let backups = (35.0 + 30.0) * ASSUMED.backup_kb / MILLION * price::S3_GB_MONTH * MILLION;
    let rows = [
        format!("| a backup each day | {:.2} a million jobs and month |", 30.0 * job * MILLION),
        format!("| backups stored | {backups:.2} a million jobs and month |"),
        format!("| alarms on four metrics | {:.2} a month |", ALARMS_OF_ARCHIVE * price::ALARM),
        format!("| objects | {:.2} a month |", batches * price::S3_WRITE),
        format!("| invocations | {invocations:.2} a month |"),
        format!("| executions | {:.3} a million |", 2.0 * each * second * MILLION),
        format!("| sorting | {sorting:.2} a month |"),
        format!("| stored | {stored:.3} a million and month |"),
    ];
    let page = page();
    for row in &rows {
        println!("{row}");
        assert!(page.contains(row), "aws-costs.md needs a row that begins with\n{row}");
    }
    // Ten million executions a month, kept for a year.
    let millions = 10.0 * (2.0 * each * second * MILLION + 12.0 * stored);
    let month = batches * price::S3_WRITE + invocations + sorting + millions;
    assert!(month < 1.0, "{month} USD");
}

/// The free units hold the writes of this many minutely jobs.
#[test]
fn the_free_units_hold_the_jobs_that_the_page_names() {
    let [minutely, ..] = columns(full());
    // Two units of each move of a timer are of the index.
    let index = 2.0 / 14.0;
    let table = minutely.writes - index;
    let (of_table, of_index) = (22.0 * 60.0 / table, 3.0 * 60.0 / index);
    let jobs = (of_table.min(of_index) * ASSUMED.use_of_units / 10.0).floor() * 10.0;
    println!("{of_table:.0} jobs by the table, {of_index:.0} by the index, {jobs} at 70 %");
    let sentence = format!("up to about {jobs} minutely jobs");
    assert!(page().contains(&sentence), "aws-costs.md does not say '{sentence}'");
}
