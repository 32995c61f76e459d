//! Completion: the script of each shell, and what the program answers to it.

use std::process::{Command, Stdio};

use crate::world::{World, run, target};

/// What completes a line in bash, with names of jobs.
fn candidates(world: &World, line: &[&str]) -> Vec<String> {
    let mut command = world.command();
    let index = (line.len() - 1).to_string();
    command.env("COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", index);
    command.env("_CLAP_IFS", "\n").env("_CLAP_COMPLETE_COMP_TYPE", "9");
    command.env("_CLAP_COMPLETE_SPACE", "true");
    let ended = run(command.arg("--").args(line), "");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.out.lines().map(str::to_owned).collect()
}

#[test]
fn names_of_jobs_and_collections_are_completed() {
    let world = World::new();
    world.must("collection create ops");
    world.must("job create ops/report --every 1h --url http://a/");
    world.must("job create ops/rotate --every 1h --url http://a/");
    world.must("job create local --every 1h --url http://a/");
    for (line, expected) in [
        (&["minutehand", "job", "show", "lo"][..], &["local"][..]),
        (&["minutehand", "job", "show", "op"], &["ops/"]),
        (&["minutehand", "job", "delete", "ops/r"], &["ops/report", "ops/rotate"]),
        (&["minutehand", "job", "list", "o"], &["ops"]),
        (&["minutehand", "job", "hist"], &["history"]),
        (&["minutehand", "job", "create", "--overlap", ""], &["allow", "skip"]),
        (&["minutehand", "job", "create", "--zone", "europe/berl"], &["Europe/Berlin"]),
        (
            &["minutehand", "preview", "--on", "mon,las"],
            &["mon,last", "mon,last-fri", "mon,last-sun"],
        ),
        (&["minutehand", "job", "set", "local", "sta"], &["startTime=", "state="]),
        (&["minutehand", "job", "set", "local", "recurrence.sc"], &["recurrence.schedule."]),
        (&["minutehand", "token", "create", "--scope", "r"], &["read", "run"]),
    ] {
        assert_eq!(candidates(&world, line), expected, "{line:?}");
    }
}

#[test]
fn failed_occurrences_are_completed() {
    let world = World::new();
    let target = target(500);
    world.must(&format!("job create local --every 1h --retry 0 --url http://{target}/"));
    let ended = world.run("job run local --wait");
    assert_eq!(ended.code, Some(5), "{ended:?}");
    let failures = world.json("failures --json");
    let at = failures[0]["at"].as_str().unwrap();
    assert_eq!(candidates(&world, &["minutehand", "job", "redrive", "local", "2"]), [at]);
}

#[test]
fn a_server_that_does_not_answer_has_no_names_and_fails_nothing() {
    let world = World::new();
    let mut command = world.command();
    command.env("MINUTEHAND_URL", "http://127.0.0.1:1").env("COMPLETE", "bash");
    command.env("_CLAP_COMPLETE_INDEX", "3").env("_CLAP_IFS", "\n");
    let ended = run(command.args(["--", "minutehand", "job", "show", "x"]), "");
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), ""), "{ended:?}");
}

#[test]
fn every_shell_has_a_script() {
    let world = World::new();
    for (shell, part) in [
        (
            "bash",
            "complete -o nospace -o bashdefault -o nosort -F _clap_complete_minutehand minutehand",
        ),
        ("zsh", "#compdef minutehand"),
        ("fish", "complete --keep-order --exclusive --command minutehand"),
        ("elvish", "set edit:completion:arg-completer[minutehand]"),
        ("powershell", "Register-ArgumentCompleter -Native -CommandName minutehand"),
    ] {
        let script = world.must(&format!("completions {shell}"));
        assert!(script.contains(part), "{shell}: {script}");
    }
}

/// Each shell that is installed reads its script and asks the program.
#[test]
fn the_shells_that_are_installed_complete() {
    let world = World::new();
    world.must("job create nightly --every 1h --url http://a/");
    let program = env!("CARGO_BIN_EXE_minutehand");
    let bin = std::path::Path::new(program).parent().unwrap();
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let bash = "source <(minutehand completions bash); COMP_WORDS=(minutehand job show ni); \
                COMP_CWORD=3; COMP_TYPE=9; _clap_complete_minutehand minutehand ni show; \
                echo \"${COMPREPLY[@]}\"";
    let fish = "minutehand completions fish | source; complete -C 'minutehand job show ni'";
    // A terminal of its own, with a tab typed.
    let zsh = "zmodload zsh/zpty; zpty -b z zsh -fi; \
               zpty -w z 'PS1=\"> \"; autoload -Uz compinit && compinit -u -D; \
               source <(minutehand completions zsh); echo READY'; \
               zpty -r -m z ready '*READY*'; zpty -n -w z $'minutehand job show ni\\t'; \
               zpty -r -m z line '*nightly*' && print -r -- $line";
    // Its editor exists on a terminal only, so the script fills a stand-in for the editor's table.
    let elvish = "var c = (ns [&arg-completer=[&]]); var e = (ns [&completion:=$c]); \
                  eval &ns=(ns [&edit:=$e]) (minutehand completions elvish | slurp); \
                  $c[arg-completer][minutehand] minutehand job show ni | each {|x| echo $x}";
    for (shell, arguments) in [
        ("bash", ["-c", bash]),
        ("fish", ["-c", fish]),
        ("zsh", ["-fc", zsh]),
        ("elvish", ["-c", elvish]),
    ] {
        let mut command = Command::new(shell);
        command.args(arguments).env("PATH", &path).env("HOME", world.home.path());
        command.env("MINUTEHAND_URL", world.url()).current_dir(world.home.path());
        command.env_remove("MINUTEHAND_CONTEXT").stdin(Stdio::null());
        match command.output() {
            Ok(output) => {
                let out = String::from_utf8_lossy(&output.stdout);
                assert!(out.contains("nightly"), "{shell}: {output:?}");
            }
            Err(error) => eprintln!("{shell} is not run: {error}; `make tools` installs it"),
        }
    }
}
