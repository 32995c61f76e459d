//! What to do about words of the command line that nothing is called by.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};

/// Options that people look for, and what there is in their place.
const TIPS: [(&str, &str); 10] = [
    ("--port", "the port is a part of --listen, like --listen 127.0.0.1:8080"),
    ("--host", "the address is a part of --listen, like --listen 0.0.0.0:7070"),
    ("--write", "`minutehand mcp --allow-writes` offers tools that change something"),
    (
        "--token",
        "other users could read it: `minutehand login` keeps a token, MINUTEHAND_TOKEN gives one for a \
         single command",
    ),
    (
        "--expect",
        "`minutehand job create --expect` makes a job that expects pings, and --early and --grace change when \
         they may come",
    ),
    ("--force", "--yes does it without asking"),
    ("--timezone", "--zone names the time zone, like --zone Europe/Berlin"),
    ("--schedule", "--cron takes a cron expression, --every an interval, --at a time of day"),
    ("--interval", "--every takes an interval, like --every 15m"),
    ("--output", "--json prints JSON, and --jsonl one item a line"),
];

/// Adds what to do to an error of the command line whose cause is known.
pub(crate) fn with_tip(mut error: Error, program: &Command) -> Error {
    let unknown = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(found)) if error.kind() == ErrorKind::UnknownArgument => {
            found.clone()
        }
        _ => String::new(),
    };
    let tip = if error.kind() == ErrorKind::InvalidSubcommand {
        // The words up to the one that is not a command lead to its neighbours.
        let mut command = program;
        for word in std::env::args().skip(1) {
            command = command.find_subcommand(&word).unwrap_or(command);
        }
        let names = command.get_subcommands().filter(|command| !command.is_hide_set());
        let names: Vec<&str> = names.map(Command::get_name).collect();
        format!("the commands are {}", names.join(", "))
    } else if let Some((_, tip)) = TIPS.iter().find(|(argument, _)| *argument == unknown) {
        error.remove(ContextKind::SuggestedArg);
        (*tip).to_owned()
    } else if unknown.starts_with('-') && error.get(ContextKind::SuggestedArg).is_none() {
        "--help lists the options of this command".to_owned()
    } else if !unknown.is_empty() && !unknown.starts_with('-') {
        format!(
            "'{unknown}' is not expected here: a value follows its option, and --help lists them"
        )
    } else {
        return error;
    };
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    error
}
