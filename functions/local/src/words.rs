//! Options of every command may stand before the command, too.

use std::ffi::OsString;

use clap::Command;

use crate::help::options_of_all;

/// The words of a command line with the options before the command behind it, where it looks for them.
/// What is not an option of every command stays: it is an option of the program, or a mistake.
pub(crate) fn in_order(words: Vec<OsString>, program: &Command) -> Vec<OsString> {
    let options: Vec<_> = options_of_all(program).collect();
    let mut rest = words.into_iter();
    let mut ordered: Vec<OsString> = rest.next().into_iter().collect();
    let mut early = Vec::new();
    let mut rest = rest.peekable();
    // Bounded by the words.
    while let Some(word) = rest.next_if(|word| word.to_string_lossy().starts_with('-')) {
        let text = word.to_string_lossy().into_owned();
        let (name, value) = match text.split_once('=') {
            Some((name, _)) => (name, true),
            None => (text.as_str(), false),
        };
        let found = options.iter().find(|option| {
            let short = option.get_short().map(|short| format!("-{short}"));
            name.strip_prefix("--") == option.get_long() || short.as_deref() == Some(name)
        });
        early.push(word);
        let Some(option) = found else {
            ordered.extend(early);
            ordered.extend(rest);
            return ordered;
        };
        let takes = option.get_action().takes_values() && !option.is_require_equals_set();
        if takes && !value {
            early.extend(rest.next());
        }
    }
    ordered.extend(rest.next());
    ordered.extend(early);
    ordered.extend(rest);
    ordered
}

#[cfg(test)]
mod tests {
    use clap::{Arg, ArgAction};

    use super::*;

    #[test]
    fn options_of_every_command_may_stand_before_it() {
        let program = Command::new("x").subcommand(
            Command::new("job")
                .arg(Arg::new("context").long("context").global(true))
                .arg(
                    Arg::new("quiet")
                        .long("quiet")
                        .short('q')
                        .global(true)
                        .action(ArgAction::SetTrue),
                )
                .arg(
                    Arg::new("json").long("json").global(true).num_args(0..=1).require_equals(true),
                )
                .arg(Arg::new("all").long("all").action(ArgAction::SetTrue)),
        );
        for (given, expected) in [
            ("x job list", "x job list"),
            ("x --context a job list", "x job --context a list"),
            ("x --context=a -q --json job list", "x job --context=a -q --json list"),
            ("x --json=name job", "x job --json=name"),
            ("x --version", "x --version"),
            ("x --all job", "x --all job"),
            ("x --context a --help", "x --context a --help"),
            ("x --context", "x --context"),
            ("x", "x"),
        ] {
            let words = given.split(' ').map(OsString::from).collect();
            let ordered = in_order(words, &program);
            let ordered: Vec<_> = ordered.iter().map(|word| word.to_string_lossy()).collect();
            assert_eq!(ordered.join(" "), expected);
        }
    }
}
