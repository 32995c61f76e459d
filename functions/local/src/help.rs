//! The help of commands: examples first, one line for an option, and the options that every command for a
//! server has in one place.

use std::ffi::OsString;

use clap::{Arg, ArgAction, Command};

/// What the words ask for, if it is help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// The help of a command, with its examples or in short.
    Command { has_examples: bool },
    /// The options that every command for a server has.
    Options,
}

/// The last line of the help of a command for a server.
const MORE: &str = "Options of every command: minutehand help options";
const OPTIONS_ABOUT: &str = "Options of every command that talks to a server";
const EXAMPLES_FIRST: &str =
    "{about-with-newline}\n{usage-heading} {usage}{after-help}\n\n{all-args}";
const OPTIONS_FIRST: &str =
    "{about-with-newline}\n{usage-heading} {usage}\n\n{all-args}{after-help}";

/// What a command line asks for; `None` if it is not a help. The words `help COMMAND` become
/// `COMMAND --help`.
pub(crate) fn asked(words: &mut Vec<OsString>, program: &Command) -> Option<Asked> {
    let (mut command, mut at) = (program, 1);
    // Bounded by the words, and by the commands in each other.
    while let Some(word) = words.get(at).map(|word| word.to_string_lossy().into_owned()) {
        if word == "help" && command.has_subcommands() {
            if at == 1 && words.len() == 3 && words.last().is_some_and(|word| word == "options") {
                words.truncate(1);
                words.push("--help".into());
                return Some(Asked::Options);
            }
            words.remove(at);
            words.push("--help".into());
            break;
        }
        let Some(below) = command.find_subcommand(&word) else { break };
        (command, at) = (below, at + 1);
    }
    let is = |text: &str| words.iter().take_while(|word| *word != "--").any(|word| word == text);
    let has_examples = is("--help");
    (has_examples || is("-h")).then_some(Asked::Command { has_examples })
}

/// The command line as it describes itself.
pub(crate) fn described(program: Command, asked: Asked) -> Command {
    match asked {
        Asked::Command { has_examples } => compact(program, has_examples, false),
        Asked::Options => options(&program),
    }
}

fn compact(command: Command, has_examples: bool, of_server: bool) -> Command {
    let of_server = of_server || command.get_arguments().any(Arg::is_global_set);
    let names: Vec<String> =
        command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    let command = names.into_iter().fold(command, |command, name| {
        command.mut_subcommand(name, |below| compact(below, has_examples, of_server))
    });
    // An option that needs several lines is explained below its name.
    let is_long = |arg: &Arg| arg.get_long_help().is_some() || arg.is_hide_short_help_set();
    if command.get_arguments().any(is_long) {
        return command;
    }
    let after = command.get_after_long_help().filter(|_| has_examples).cloned();
    let are_examples = after.as_ref().is_some_and(|it| it.to_string().starts_with("Examples"));
    let template = if are_examples { EXAMPLES_FIRST } else { OPTIONS_FIRST };
    let more = if of_server { format!("\n\n{MORE}") } else { String::new() };
    let command = command
        .mut_args(|arg| if arg.is_global_set() { arg.hide(true) } else { arg })
        .disable_help_flag(true)
        .arg(help().help("Print help; --help has examples, too"))
        .help_template(format!("{template}{more}"));
    match after {
        Some(after) => command.after_help(after),
        None => command,
    }
}

fn options(program: &Command) -> Command {
    Command::new("options")
        .about(OPTIONS_ABOUT)
        .help_template("{about-with-newline}\n{all-args}")
        .disable_help_flag(true)
        .arg(help().hide(true))
        .args(options_of_all(program).cloned().map(|arg| arg.global(false).help_heading("Options")))
}

fn help() -> Arg {
    Arg::new("help").short('h').long("help").action(ArgAction::HelpShort)
}

/// The options of every command that talks to a server.
pub(crate) fn options_of_all(program: &Command) -> impl Iterator<Item = &Arg> {
    // Each has the same ones.
    let arguments = program.find_subcommand("job").into_iter().flat_map(Command::get_arguments);
    arguments.filter(|argument| argument.is_global_set())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_is_asked_for_in_several_ways() {
        let program = Command::new("x")
            .subcommand(Command::new("job").subcommand(Command::new("show").arg(Arg::new("name"))))
            .subcommand(Command::new("export").arg(Arg::new("name")));
        let examples = Some(Asked::Command { has_examples: true });
        for (given, expected, words) in [
            ("x --help", examples, "x --help"),
            ("x job show -h", Some(Asked::Command { has_examples: false }), "x job show -h"),
            ("x help job show", examples, "x job show --help"),
            ("x job help show", examples, "x job show --help"),
            ("x help", examples, "x --help"),
            ("x help options", Some(Asked::Options), "x --help"),
            ("x export help", None, "x export help"),
            ("x job show help", None, "x job show help"),
            ("x export -- --help", None, "x export -- --help"),
        ] {
            let mut given: Vec<OsString> = given.split(' ').map(OsString::from).collect();
            assert_eq!(asked(&mut given, &program), expected, "{given:?}");
            let given: Vec<_> = given.iter().map(|word| word.to_string_lossy()).collect();
            assert_eq!(given.join(" "), words);
        }
    }
}
