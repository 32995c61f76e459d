//! Pings behind the commands of a crontab.
//!
//! A command runs in a subshell, so that what it does to its shell (`exit`, `exec`, `cd`) does not keep the
//! ping from being sent, and the ping tells its exit status.

use super::{CrontabForm, Line, variable};
use crate::unsayable::{Unsayable, quoted};

/// The shells in which `$?` is the status of the last command.
const SHELLS: [&str; 6] = ["sh", "ash", "bash", "dash", "ksh", "zsh"];

/// A crontab in which every command pings the URLs of its line, the first of which is line 1. A line without
/// URLs stays as it is.
#[must_use]
pub fn with_pings(text: &str, form: CrontabForm, urls: impl Fn(usize) -> Vec<String>) -> String {
    let mut lines = String::new();
    for (n, line) in (1..).zip(text.lines()) {
        let pinging = pinging(line.trim_end(), form, &urls(n));
        lines.push_str(pinging.as_deref().unwrap_or(line));
        lines.push('\n');
    }
    lines
}

/// A line with its pings; `None` if it has none, or is no command.
fn pinging(line: &str, form: CrontabForm, urls: &[String]) -> Option<String> {
    if urls.is_empty() || line.trim_start().starts_with('#') || variable(line.trim()).is_some() {
        return None;
    }
    let read = Line::read(line.trim_start(), form).ok()?;
    let (before, _) = line.split_at_checked(line.len() - read.command.len())?;
    let (command, input) = read.command.split_at_checked(end(read.command))?;
    let command = command.trim_end();
    let ping = |url: &str, status: &str| {
        let url = url.replace('%', "\\%");
        format!("; curl -fsS -m 10 --retry 5 -o /dev/null {url}/{status}")
    };
    let pings: String = match urls {
        [url] => ping(url, "$?"),
        more => {
            let all: String = more.iter().map(|url| ping(url, "$s")).collect();
            format!("; s=$?{all}")
        }
    };
    Some(format!("{before}( {command} ){pings}{input}"))
}

/// Where a command ends: before the first `%` that is not escaped, behind which its input stands.
fn end(command: &str) -> usize {
    let mut is_escaped = false;
    for (at, c) in command.char_indices() {
        if c == '%' && !is_escaped {
            return at;
        }
        is_escaped = c == '\\';
    }
    command.len()
}

/// Whether the status of a command can be told by what stands behind it.
///
/// # Errors
///
/// If it cannot.
pub(super) fn check(command: &str) -> Result<(), Unsayable> {
    let mut quote = None;
    let mut chars = command.chars();
    let mut last = ' ';
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (Some('\''), _) => {}
            // What a backslash stands before has no meaning.
            (_, '\\') if chars.next().is_none() => return Err(open("a backslash")),
            (None, '\'' | '"') => quote = Some(c),
            (None, '#') if last.is_whitespace() || ";&|(".contains(last) => {
                let why = "a comment stands behind the command, and would hide the ping";
                return Err(Unsayable::new(why, "put it into a line of its own"));
            }
            _ => {}
        }
        last = c;
    }
    if quote.is_some() {
        return Err(open("an open quotation mark"));
    }
    let command = command.trim_end();
    if command.ends_with('&') && !command.ends_with("&&") {
        let why = "the command runs on in the background, so its exit status is not known";
        return Err(Unsayable::new(why, "remove the & at its end: cron waits for nothing else"));
    }
    if command.contains("curl") && command.contains("/ping/") {
        let why = "the command sends a ping already";
        return Err(Unsayable::new(why, "leave it as it is, or remove that ping"));
    }
    Ok(())
}

fn open(what: &str) -> Unsayable {
    let why = format!("the command ends with {what}, so nothing can stand behind it");
    Unsayable::new(why, "complete the command, or move it into a script")
}

/// Whether the shell of the lines that follow has the status of the last command in `$?`.
///
/// # Errors
///
/// If that is not known.
pub(super) fn check_shell(shell: &str) -> Result<(), Unsayable> {
    let name = shell.rsplit('/').next().unwrap_or(shell);
    if SHELLS.contains(&name) {
        return Ok(());
    }
    let why = format!("the commands run in {}, which may not know $?", quoted(shell));
    Err(Unsayable::new(why, "set SHELL=/bin/sh before this line, or add the pings by hand"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "https://m.example/ping/11111111-2222-4333-8444-555555555555";

    fn user(line: &str) -> String {
        with_pings(line, CrontabForm::User, |_| vec![URL.to_owned()])
    }

    #[test]
    fn a_command_tells_its_status() {
        let curl = format!("; curl -fsS -m 10 --retry 5 -o /dev/null {URL}/$?");
        for (line, expected) in [
            ("30 2 * * *  backup.sh --all  ", format!("30 2 * * *  ( backup.sh --all ){curl}\n")),
            ("@daily test -x /x || exit 3", format!("@daily ( test -x /x || exit 3 ){curl}\n")),
            (
                "* * * * * mail a\\%b%Hello%you",
                format!("* * * * * ( mail a\\%b ){curl}%Hello%you\n"),
            ),
            ("# 30 2 * * * not me", "# 30 2 * * * not me\n".to_owned()),
            ("MAILTO=me", "MAILTO=me\n".to_owned()),
        ] {
            assert_eq!(user(line), expected);
        }
        let system =
            with_pings("17 * * * *\troot\tcd / && run-parts x\n", CrontabForm::System, |_| {
                vec![URL.to_owned()]
            });
        assert_eq!(system, format!("17 * * * *\troot\t( cd / && run-parts x ){curl}\n"));
    }

    #[test]
    fn only_lines_with_jobs_ping_and_one_with_two_jobs_pings_both() {
        let text = "0 0 13 * 5 x\n@reboot y\n";
        let urls = |n| if n == 1 { vec!["u/1".to_owned(), "u/2".to_owned()] } else { Vec::new() };
        let curl = "curl -fsS -m 10 --retry 5 -o /dev/null";
        assert_eq!(
            with_pings(text, CrontabForm::User, urls),
            format!("0 0 13 * 5 ( x ); s=$?; {curl} u/1/$s; {curl} u/2/$s\n@reboot y\n")
        );
    }

    #[test]
    fn what_would_hide_a_ping_is_refused() {
        for (command, problem) in [
            ("run &", "background"),
            ("run # nightly", "comment"),
            ("run;# nightly", "comment"),
            ("echo 'a", "quotation mark"),
            ("echo \"a 'b'", "quotation mark"),
            ("run \\", "backslash"),
            ("run; curl https://m/ping/1/$?", "already"),
        ] {
            let why = check(command).unwrap_err().why;
            assert!(why.contains(problem), "{command}: {why}");
        }
        for command in ["a && b", "echo a#b", "echo '# b' \"# c\"", "a 2>&1", "echo \\'", "a;"] {
            assert_eq!(check(command), Ok(()), "{command}");
        }
    }

    #[test]
    fn a_shell_without_that_status_is_known_by_its_name() {
        assert_eq!(check_shell("/bin/bash").and(check_shell("sh")), Ok(()));
        assert!(check_shell("/usr/bin/fish").unwrap_err().why.contains("'/usr/bin/fish'"));
    }
}
