//! The commands of `make deploy` and `make deploy-cdk`, compared with the parameters of the template.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use regex_lite::Regex;
use serde_json::Value;

use super::Template;

const TARGETS: [&str; 2] = ["deploy", "deploy-cdk"];

#[test]
fn a_deployment_gives_values_that_the_template_accepts() {
    let template = Template::read();
    for target in TARGETS {
        for architecture in ["arm64", "x86_64"] {
            let option = format!("ARCHITECTURE={architecture}");
            let given = parameters(&commands(&[target, &option, "PARAMETERS=Active=no"], None));
            assert_eq!(given.get("Architecture").unwrap(), architecture, "{target}");
            assert_eq!(given.get("Active").unwrap(), "no", "{target}");
            assert!(!given.get("Release").unwrap().is_empty(), "{target}");
            let problems: Vec<_> =
                given.iter().filter_map(|(name, value)| template.refusal(name, value)).collect();
            assert_eq!(problems, Vec::<String>::new(), "{target}");
        }
    }
}

#[test]
fn two_deployments_have_different_releases_even_while_the_clock_stands_still() {
    let stopped = tempfile::tempdir().unwrap();
    // A `date` that prints nothing.
    symlink("/bin/true", stopped.path().join("date")).unwrap();
    for target in TARGETS {
        let release = || {
            let mut given = parameters(&commands(&[target], Some(stopped.path())));
            given.remove("Release").unwrap()
        };
        let (first, second) = (release(), release());
        assert_ne!(first, second, "{target}");
        assert_eq!(Template::read().refusal("Release", &first), None, "{target}");
    }
}

#[test]
fn a_deployment_checks_the_account_first_then_who_hears_of_alarms_and_protects_the_stack_last() {
    for target in TARGETS {
        let commands = commands(&[target, "STACK=another"], None);
        let only = |word| {
            let found = commands.iter().enumerate().filter(|(_, line)| line.contains(word));
            let found: Vec<usize> = found.map(|(at, _)| at).collect();
            assert_eq!(found.len(), 1, "{target}: {word} in {commands:?}");
            found[0]
        };
        let [check, deploy, hears, protect] = [
            "infra/tools/check-account",
            " deploy ",
            "infra/tools/check-receiver",
            "infra/tools/protect",
        ]
        .map(only);
        assert!(check < deploy && deploy < hears, "{target}: {commands:?}");
        assert_eq!(protect, commands.len() - 1, "{target}: {commands:?}");
        assert!(commands[deploy].contains("'another'"), "{target}: {commands:?}");
        assert!(commands[protect].ends_with(" 'another'"), "{target}: {commands:?}");
    }
}

#[test]
fn a_value_is_refused_as_cloudformation_refuses_it() {
    let template = Template::read();
    for (name, value, is_refused) in [
        ("Release", "2026-11-26T12:00:00Z-0123456789abcdef", false),
        ("Release", "target/release/minutehand", true),
        ("Architecture", "arm64", false),
        ("Architecture", "arm", true),
        ("HistoryDays", "7", false),
        ("HistoryDays", "8", true),
        ("Unknown", "1", true),
    ] {
        assert_eq!(template.refusal(name, value).is_some(), is_refused, "{name}={value}");
    }
}

/// The commands that make would run, one a line. In `before`, it looks for programs first.
fn commands(arguments: &[&str], before: Option<&Path>) -> Vec<String> {
    #[expect(clippy::disallowed_methods, reason = "make is where the caller of the tests has it")]
    let path = std::env::var("PATH").unwrap();
    let path = before.map_or_else(|| path.clone(), |it| format!("{}:{path}", it.display()));
    let mut make = Command::new("make");
    // Variables of the caller could change the commands.
    make.env_clear().env("PATH", path);
    make.arg("--dry-run").args(arguments);
    let output = make.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let printed = String::from_utf8(output.stdout).unwrap();
    printed.replace("\\\n", " ").lines().map(|line| line.trim().to_owned()).collect()
}

/// The parameters of the template in the command that deploys.
fn parameters(commands: &[String]) -> BTreeMap<String, String> {
    let command = commands.iter().find(|line| line.contains("--parameter")).unwrap();
    let (_, words) = command.split_once("--parameter").unwrap();
    let pairs = words.split_whitespace().filter_map(|word| word.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

impl Template {
    /// Why AWS refuses a value of a parameter, if it does.
    fn refusal(&self, name: &str, value: &str) -> Option<String> {
        let parameter = self.parameter(name);
        if parameter.is_null() {
            return Some(format!("the template has no parameter {name}"));
        }
        let is_value = |it: &Value| it.as_str().map_or(it.to_string(), str::to_owned) == value;
        if parameter["AllowedValues"].as_array().is_some_and(|all| !all.iter().any(is_value)) {
            return Some(format!("{name}={value} is none of {}", parameter["AllowedValues"]));
        }
        let pattern = parameter["AllowedPattern"].as_str()?;
        let fits = Regex::new(&format!("^(?:{pattern})$")).unwrap().is_match(value);
        (!fits).then(|| format!("{name}={value} does not match {pattern}"))
    }
}
