//! Crontabs of users, and of the system with a column for the user.
//!
//! A job calls a URL in place of a command, or it expects a ping of it; then [`with_pings`] adds the pings to
//! the crontab.

mod pings;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};

use crate::ConvertOptions;
use crate::cron::{self, Cron};
use crate::draft::{Draft, Drafts};
use crate::object::object;
use crate::report::{ProblemKind, SourcePlace};
use crate::unsayable::{Unsayable, quoted};

pub use pings::with_pings;

/// The variable of a crontab whose value is the zone of the lines after it.
const ZONE: &str = "CRON_TZ";

/// The placeholder of a template for the command of a line.
const COMMAND: &str = "{command}";

/// The characters that a part of a URL does not contain as they are.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// What cron programs do with a time that the clock skips.
const SKIPPED_TIME: &str =
    "cron programs differ: many fire right after the change, some not at all";

/// The forms of a crontab.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CrontabForm {
    /// That of a user, as `crontab -l` prints it.
    #[default]
    User,
    /// `/etc/crontab` and the files in `/etc/cron.d`: a user stands before each command.
    System,
}

impl CrontabForm {
    /// Reads the name of a form.
    #[must_use]
    pub fn read(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "user" => Some(Self::User),
            "system" => Some(Self::System),
            _ => None,
        }
    }
}

/// What is known on the way through a file.
struct Reading<'a> {
    options: &'a ConvertOptions,
    does: Does<'a>,
    /// The zone of the lines that follow, or why it is unknown.
    zone: Result<Option<String>, Unsayable>,
    /// Why pings cannot be added to the lines that follow.
    shell: Result<(), Unsayable>,
    /// Whether the zone of the machine was needed and reported.
    is_zone_noted: bool,
}

/// What jobs do for the commands of a crontab.
#[derive(Clone, Copy)]
enum Does<'a> {
    /// They call the URL of this template.
    Call(&'a str),
    /// They expect pings in this window.
    Expect(&'a Value),
}

/// A line with a schedule: its expression, its user and its command.
#[derive(Debug, PartialEq, Eq)]
struct Line<'a> {
    expression: &'a str,
    user: Option<&'a str>,
    command: &'a str,
}

/// Converts a crontab.
pub(crate) fn convert(
    text: &str,
    options: &ConvertOptions,
    drafts: &mut Drafts,
) -> Result<(), Unsayable> {
    let does = match &options.expect {
        Some(window) => Does::Expect(window),
        None => Does::Call(template(options)?),
    };
    let zone = options.time_zone.clone();
    cron::check_zone(zone.as_deref())?;
    let mut reading =
        Reading { options, does, zone: Ok(zone), shell: Ok(()), is_zone_noted: false };
    for (n, line) in (1..).zip(text.lines()) {
        let (line, place) = (line.trim(), SourcePlace::Line(n));
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some((name, value)) = variable(line) {
            reading.set(name, value, place, drafts);
            continue;
        }
        drafts.add(&place, |drafts| reading.draft(line, n, drafts))?;
    }
    Ok(())
}

/// The template of the URLs that are called in place of commands.
fn template(options: &ConvertOptions) -> Result<&str, Unsayable> {
    let remedy = "give a template of the URL to call, such as \
                  'https://runner.example.com/run?cmd={command}'";
    let Some(template) = options.template.as_deref() else {
        let why = "a line of a crontab is a command, and a job calls a URL";
        return Err(Unsayable::new(why, remedy));
    };
    if template.starts_with("https://") || template.starts_with("http://") {
        return Ok(template);
    }
    Err(Unsayable::new("the template is not an http or https URL", remedy))
}

/// Reads `NAME = value`, with or without quotation marks.
fn variable(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=')?;
    let (name, value) = (name.trim(), value.trim());
    let name = unquoted(name);
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then(|| (name, unquoted(value)))
}

fn unquoted(text: &str) -> &str {
    let within = |mark| text.strip_prefix(mark).and_then(|text| text.strip_suffix(mark));
    within('"').or_else(|| within('\'')).unwrap_or(text)
}

impl Reading<'_> {
    /// Takes a variable into account, or reports that it has no effect.
    fn set(&mut self, name: &str, value: &str, place: SourcePlace, drafts: &mut Drafts) {
        if name == ZONE {
            let checked = cron::check_zone(Some(value));
            if let Err(unsayable) = &checked {
                drafts.note(ProblemKind::Needed, place, unsayable.clone());
            }
            self.zone = checked.map(|()| Some(value.to_owned()));
            return;
        }
        if matches!(self.does, Does::Expect(_)) {
            // The crontab stays, with its variables.
            if name == "SHELL" {
                self.shell = pings::check_shell(value);
            }
            return;
        }
        let (why, remedy) = match name {
            "TZ" => (
                "TZ is the zone of the commands; cron reads the times in the zone of its machine",
                "if your cron reads times in TZ, write CRON_TZ",
            ),
            "MAILTO" | "MAILFROM" => {
                ("a job sends no mail", "use an errorAction, or onFailure of the collection")
            }
            "RANDOM_DELAY" => (
                "RANDOM_DELAY delays at random, and a job fires at its time",
                "spread the minutes of the schedules",
            ),
            _ => (
                "a variable is for commands, and the target has an environment of its own",
                "set it there, if the command needs it",
            ),
        };
        let why = if why.contains(name) { why.to_owned() } else { format!("{name}: {why}") };
        drafts.note(ProblemKind::Changed, place, Unsayable::new(why, remedy));
    }

    /// The jobs of a line: one, or two for a day of the month or a day of the week.
    fn draft(
        &mut self,
        line: &str,
        n: usize,
        drafts: &mut Drafts,
    ) -> Result<Vec<Draft>, Unsayable> {
        let line = Line::read(line, self.options.form)?;
        let zone = self.zone.clone()?;
        let cron = Cron::unix(line.expression)?;
        let timings = cron.timings(zone.as_deref(), drafts.now)?;
        if zone.is_none() && !self.is_zone_noted {
            self.is_zone_noted = true;
            let unsayable = Unsayable::new(
                "a crontab does not name the zone of its machine, so the times are in the zone of \
                 the collection, or in UTC",
                "give the zone of the machine, such as 'Europe/Berlin'",
            );
            drafts.note(ProblemKind::Changed, SourcePlace::Line(n), unsayable);
        }
        let (command, input) = command_and_input(line.command);
        let action = match self.does {
            Does::Call(template) => self.call(template, &line, &command, input.as_deref()),
            Does::Expect(window) => {
                self.shell.clone()?;
                pings::check(&command)?;
                json!({"type": "Expect", "expect": window})
            }
        };
        let mut notes = self.notes(&line, timings.len());
        let drafts = timings.into_iter().map(|timing| Draft {
            name: name(&command),
            place: SourcePlace::Line(n),
            start_time: Some(minutehand_recurrence::format_instant(timing.start_time).into()),
            recurrence: Some(timing.recurrence),
            action: action.clone(),
            extensions: Map::new(),
            is_enabled: true,
            skipped_time: Some(SKIPPED_TIME),
            // The notes are about the line, and stand beside its first job.
            notes: std::mem::take(&mut notes),
        });
        Ok(drafts.collect())
    }

    fn notes(&self, line: &Line<'_>, timings: usize) -> Vec<(ProblemKind, Unsayable)> {
        let mut notes = Vec::new();
        let template = match self.does {
            Does::Call(template) => Some(template),
            Does::Expect(_) => None,
        };
        // Each of two jobs that expect pings gets its own, and takes what it is owed.
        if timings > 1 && template.is_some() {
            let unsayable = Unsayable::new(
                "cron fires on the day of the month or on the day of the week, so there are two \
                 jobs, and on a day that is both they both fire",
                "delete one of them if you meant the other, or let the target ignore the second call",
            );
            notes.push((ProblemKind::Changed, unsayable));
        }
        let first = line.command.split_whitespace().next();
        if self.options.form == CrontabForm::User && first == Some("root") {
            let why = "the command begins with 'root', like a line of a crontab of the system";
            let remedy = "if there is a column for the user, convert the file in the form 'system'";
            notes.push((ProblemKind::Changed, Unsayable::new(why, remedy)));
        }
        let Some(template) = template else {
            return notes;
        };
        if let Some(user) = line.user.filter(|_| !template.contains("{user}")) {
            let why = format!("the command ran as the user {}", quoted(user));
            let remedy = "put {user} into the template, if the target has to know it";
            notes.push((ProblemKind::Changed, Unsayable::new(why, remedy)));
        }
        if !template.contains(COMMAND) {
            let why = "the template does not contain {command}, so the target is not told it";
            notes.push((ProblemKind::Changed, Unsayable::new(why, "put {command} into it")));
        }
        notes
    }

    fn call(&self, template: &str, line: &Line<'_>, command: &str, input: Option<&str>) -> Value {
        let uri = template
            .replace(COMMAND, &percent_encoded(command))
            .replace("{user}", &percent_encoded(line.user.unwrap_or_default()))
            .replace("{name}", &percent_encoded(&name(command)));
        let kind = if uri.starts_with("https:") { "Https" } else { "Http" };
        let request = object([
            ("uri", Some(uri.into())),
            ("method", Some(self.options.method.as_str().into())),
            ("body", input.map(Value::from)),
        ]);
        json!({"type": kind, "request": request})
    }
}

impl<'a> Line<'a> {
    fn read(line: &'a str, form: CrontabForm) -> Result<Self, Unsayable> {
        // A minus before the minutes keeps a line out of the log of some crons.
        let line = line.strip_prefix('-').unwrap_or(line);
        let fields = if line.starts_with('@') { 1 } else { 5 };
        let (expression, rest) = words(line, fields);
        let (user, command) = match form {
            CrontabForm::User => (None, rest),
            CrontabForm::System => {
                let (user, rest) = words(rest, 1);
                (Some(user), rest)
            }
        };
        if !command.is_empty() {
            return Ok(Self { expression, user, command });
        }
        // A wrong expression explains a missing command.
        Cron::unix(expression)?;
        let (why, remedy) = match user {
            Some(user) if !user.is_empty() => (
                "the line has no command after the user",
                "if it has no column for the user, convert the file in the form 'user'",
            ),
            _ => ("the line has no command", "add one, or make the line a comment"),
        };
        Err(Unsayable::new(why, remedy))
    }
}

/// The first words of a text, and what follows them.
fn words(text: &str, count: usize) -> (&str, &str) {
    let mut rest = text.trim_start();
    for _ in 0..count {
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        rest = rest.get(end..).unwrap_or_default().trim_start();
    }
    let first = text.len() - rest.len();
    (text.get(..first).unwrap_or_default().trim(), rest)
}

/// The command, and its standard input: what follows the first `%`, where each `%` is a line break.
/// `\%` is a percent sign.
fn command_and_input(text: &str) -> (String, Option<String>) {
    let mut command = String::new();
    let mut input: Option<String> = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let is_escaped = c == '\\' && chars.peek() == Some(&'%');
        if c == '%' && input.is_none() {
            input = Some(String::new());
            continue;
        }
        let text = input.as_mut().unwrap_or(&mut command);
        match c {
            _ if is_escaped => text.extend(chars.next()),
            '%' => text.push('\n'),
            _ => text.push(c),
        }
    }
    (command.trim_end().to_owned(), input)
}

/// A name made of a command: the last part of the first path in it, or its first word.
fn name(command: &str) -> String {
    let mut words = command.split(|c: char| c.is_whitespace() || "\"'();|&<>".contains(c));
    let path = words.clone().find(|word| word.starts_with('/') && word.len() > 1);
    let word = path.or_else(|| words.find(|word| !word.is_empty())).unwrap_or("job");
    let parts = word.rsplit('/').find(|part| !part.is_empty());
    parts.unwrap_or(word).to_owned()
}

/// A text as a part of a URL: all but letters, digits and `-._~` is encoded.
pub(crate) fn percent_encoded(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

#[cfg(test)]
mod tests;
