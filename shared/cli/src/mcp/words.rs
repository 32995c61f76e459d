//! The words of the command line in those of the tools: an assistant has arguments, and no options.

use clap::Command;

use super::arguments::offered;

/// What an assistant calls in place of a command, the longer commands first.
const COMMANDS: [(&str, &str); 14] = [
    ("collection create", "create_collection"),
    ("collection list", "list_collections"),
    ("collection set", "update_collection"),
    ("job create", "create_job"),
    ("job set", "update_job"),
    ("job list", "list_jobs"),
    ("job show", "get_job"),
    ("job history", "job_history"),
    ("job redrive", "redrive"),
    ("job run", "run_job"),
    ("job delete", "delete_job"),
    ("failures", "failures"),
    ("preview", "preview"),
    ("why", "why"),
];

/// Names the arguments of a tool, and the other tools, in a text that names options and commands.
pub(super) fn in_words_of(tool: Option<&Command>, text: &str) -> String {
    let text = with_tools(text);
    match tool {
        Some(tool) => with_arguments(tool, &text),
        None => text,
    }
}

/// Puts the names of tools in place of commands between backticks.
fn with_tools(text: &str) -> String {
    let parts = text.split('`').enumerate().map(|(n, part)| {
        let command = part.strip_prefix("minutehand ").filter(|_| n % 2 == 1);
        let tool = command.and_then(|command| {
            COMMANDS.iter().find(|(words, _)| {
                command
                    .strip_prefix(words)
                    .is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
            })
        });
        tool.map_or(part, |(_, tool)| *tool)
    });
    parts.collect::<Vec<_>>().join("`")
}

/// Puts the names of arguments in place of options.
fn with_arguments(tool: &Command, text: &str) -> String {
    let mut pieces = text.split("--");
    let mut written = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(piece.len());
        let (option, rest) = piece.split_at(end);
        let name =
            offered(tool).map(|(name, _)| name).find(|name| name.replace('_', "-") == option);
        match name {
            Some(name) => written.extend([&name, rest]),
            None => written.extend(["--", piece]),
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use clap::Args as _;

    use super::*;
    use crate::job::policy::PolicyArgs;
    use crate::job::schedule::ScheduleArgs;

    #[test]
    fn options_become_arguments_and_commands_become_tools() {
        let tool = ScheduleArgs::augment_args(PolicyArgs::augment_args(Command::new("create_job")));
        for (text, says) in [
            ("add --on mon-fri, --daily, or --once", "add on mon-fri, daily, or once"),
            ("--catch-up 'x' is unknown", "catch_up 'x' is unknown"),
            ("'--at=9' was given", "'at=9' was given"),
            ("--sign FILE and --file stay", "--sign FILE and --file stay"),
            ("a -- b --", "a -- b --"),
            ("`minutehand collection create ops` creates it", "`create_collection` creates it"),
            ("`minutehand whyever`, minutehand why", "`minutehand whyever`, minutehand why"),
        ] {
            assert_eq!(in_words_of(Some(&tool), text), says);
        }
        assert_eq!(in_words_of(None, "--at"), "--at");
    }
}
