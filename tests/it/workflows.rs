//! The workflows in `.github/workflows` run targets of the `Makefile` and nothing else, so that each
//! step of theirs can be repeated on any machine with the same words.
//!
//! As in `arrows`, the checks are functions from text to a list of problems, tried below on made-up
//! workflows. `.ci/lint` checks the syntax.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use saphyr::{LoadableYamlNode, Yaml};

/// The machines that releases and checks use.
const RUNNERS: [&str; 5] =
    ["ubuntu-22.04", "ubuntu-22.04-arm", "ubuntu-24.04", "macos-15", "macos-15-intel"];

/// What a job gets in place of a runner: the value of its matrix.
const OF_MATRIX: &str = "${{ matrix.runner }}";

#[test]
fn workflows_run_make_targets_on_machines_that_exist() {
    let targets = targets(&read("Makefile"));
    let folder = root().join(".github/workflows");
    let mut problems = Vec::new();
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).expect(".github/workflows is readable") {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let text = read(&format!(".github/workflows/{name}"));
        problems.extend(problems_of(&text, &targets).iter().map(|it| format!("{name}: {it}")));
        names.push(name);
    }
    names.sort_unstable();
    assert_eq!(names, ["ci.yml", "nightly.yml", "release.yml"]);
    assert_eq!(problems, Vec::<String>::new());
}

#[test]
fn the_whole_check_runs_make_targets_that_exist() {
    let (targets, script) = (targets(&read("Makefile")), read(".ci/run"));
    let target = |line: &str| {
        let (how, target) = line.split_once(" make ")?;
        (how == "part" || how.starts_with("beside ")).then(|| target.to_owned())
    };
    let parts: Vec<String> = script.lines().filter_map(target).collect();
    assert!(parts.len() > 5, "{parts:?}");
    for part in parts {
        // Variables may follow the target.
        let target = part.split(' ').next().unwrap_or_default();
        assert!(targets.contains(target), "{part}");
    }
}

#[test]
fn contributors_are_told_targets_that_exist() {
    let (targets, page) = (targets(&read("Makefile")), read(".github/CONTRIBUTING.md"));
    let commands = page.lines().filter(|line| line.starts_with("make "));
    let commands: Vec<&str> = commands.filter_map(|line| line.split('#').next()).collect();
    assert!(commands.len() > 4, "{commands:?}");
    for command in commands {
        assert_eq!(command_problem(command, &targets), None);
    }
}

#[test]
fn every_documented_target_is_phony() {
    let makefile = read("Makefile");
    let phony = makefile.lines().find_map(|line| line.strip_prefix(".PHONY: ")).unwrap();
    assert_eq!(phony.split(' ').map(str::to_owned).collect::<BTreeSet<_>>(), targets(&makefile));
}

#[test]
fn the_toolchain_is_of_the_version_that_the_manifests_ask_for() {
    let value = |text: &str, name: &str| {
        let found = text.lines().find_map(|line| line.strip_prefix(&format!("{name} = ")));
        found.unwrap().trim_matches('"').to_owned()
    };
    let channel = value(&read("rust-toolchain.toml"), "channel");
    let version = value(&read("Cargo.toml"), "rust-version");
    assert!(channel.starts_with(&format!("{version}.")), "{channel}, {version}");
}

/// The targets that `make help` lists.
fn targets(makefile: &str) -> BTreeSet<String> {
    let documented = makefile.lines().filter(|line| line.contains(": ") && line.contains("## "));
    documented.filter_map(|line| Some(line.split_once(':')?.0.to_owned())).collect()
}

fn problems_of(workflow: &str, targets: &BTreeSet<String>) -> Vec<String> {
    let documents = Yaml::load_from_str(workflow).expect("a workflow is YAML");
    let [workflow] = documents.as_slice() else { panic!("a workflow is one document") };
    let mut problems = Vec::new();
    let permissions = workflow.as_mapping_get("permissions").and_then(Yaml::as_mapping);
    if permissions.is_none_or(|all| all.values().any(|it| it.as_str() != Some("read"))) {
        problems.push("jobs may write unless they are told: say `permissions`".to_owned());
    }
    let jobs = workflow.as_mapping_get("jobs").and_then(Yaml::as_mapping).expect("there are jobs");
    for (name, job) in jobs {
        let name = name.as_str().expect("a job has a name");
        problems.extend(job_problems(job, targets).iter().map(|it| format!("{name}: {it}")));
    }
    problems
}

fn job_problems(job: &Yaml<'_>, targets: &BTreeSet<String>) -> Vec<String> {
    if let Some(called) = text(job, "uses") {
        return called_problem(called).into_iter().collect();
    }
    let mut problems = Vec::new();
    if job.as_mapping_get("timeout-minutes").and_then(Yaml::as_integer).is_none() {
        problems.push("it has no time limit".to_owned());
    }
    for runner in runners(job) {
        if !RUNNERS.contains(&runner) {
            problems.push(format!("{runner:?} is not a known runner"));
        }
    }
    for step in job.as_mapping_get("steps").and_then(Yaml::as_sequence).into_iter().flatten() {
        problems.extend(text(step, "uses").and_then(called_problem));
        let lines = text(step, "run").into_iter().flat_map(str::lines);
        problems.extend(lines.filter_map(|line| command_problem(line, targets)));
    }
    problems
}

fn runners<'a>(job: &'a Yaml<'_>) -> Vec<&'a str> {
    let runner = text(job, "runs-on").unwrap_or_default();
    if runner != OF_MATRIX {
        return vec![runner];
    }
    let matrix = job.as_mapping_get("strategy").and_then(|it| it.as_mapping_get("matrix"));
    let listed = matrix.and_then(|it| it.as_mapping_get("runner")).and_then(Yaml::as_sequence);
    listed.into_iter().flatten().map(|it| it.as_str().unwrap_or_default()).collect()
}

/// An action is pinned by its major version; a workflow of ours is a file.
fn called_problem(called: &str) -> Option<String> {
    let is_ours = called.strip_prefix("./").is_some_and(|path| root().join(path).exists());
    let is_pinned = called.split_once("@v").is_some_and(|(name, version)| {
        name.contains('/') && !version.is_empty() && version.bytes().all(|it| it.is_ascii_digit())
    });
    (!is_ours && !is_pinned).then(|| format!("{called:?} is not pinned by its major version"))
}

/// A line is `make`, and targets that exist.
fn command_problem(line: &str, targets: &BTreeSet<String>) -> Option<String> {
    let mut words = line.split_whitespace();
    let is_make = words.next() == Some("make");
    let mut given = words.peekable();
    let is_good = is_make && given.peek().is_some() && given.all(|it| targets.contains(it));
    (!is_good).then(|| format!("{line:?} does not run targets of the Makefile"))
}

fn text<'a>(node: &'a Yaml<'_>, key: &str) -> Option<&'a str> {
    node.as_mapping_get(key).and_then(Yaml::as_str)
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ is in the workspace")
}

// What follows shows that the checks can fail.

const GOOD: &str = "
permissions: {contents: read}
jobs:
  one:
    runs-on: ubuntu-24.04
    timeout-minutes: 5
    steps:
      - uses: actions/checkout@v6
      - run: make check test
  two:
    uses: ./.github/workflows/ci.yml
  three:
    strategy: {matrix: {runner: [macos-15]}}
    runs-on: ${{ matrix.runner }}
    timeout-minutes: 5
    steps:
      - run: |
          make check
          make test
";

/// The one problem that there is once this is replaced.
#[track_caller]
fn problem_after(from: &str, to: &str) -> String {
    let changed = GOOD.replacen(from, to, 1);
    assert_ne!(changed, GOOD, "{from} is not there");
    let targets = targets("check: ## a\ntest: check ## b\n");
    assert_eq!(problems_of(GOOD, &targets), Vec::<String>::new());
    let problems = problems_of(&changed, &targets);
    assert_eq!(problems.len(), 1, "{problems:#?}");
    problems.concat()
}

#[test]
fn a_step_that_runs_something_else_is_found() {
    for line in ["cargo test", "make", "make chekc", "make check && ls", "sudo make check"] {
        let problem = problem_after("make check test", line);
        assert_eq!(problem, format!("one: {line:?} does not run targets of the Makefile"));
    }
    assert!(problem_after("make test", "rm -r target").starts_with("three: "));
}

#[test]
fn an_action_that_is_not_pinned_is_found() {
    for called in ["actions/checkout@main", "actions/checkout", "checkout@v6", "a/b@v6.1"] {
        assert!(problem_after("actions/checkout@v6", called).contains(called), "{called}");
    }
    assert!(problem_after("workflows/ci.yml", "workflows/none.yml").starts_with("two: "));
}

#[test]
fn a_job_without_a_limit_a_known_runner_or_few_rights_is_found() {
    assert!(problem_after("    timeout-minutes: 5\n", "").contains("no time limit"));
    assert!(problem_after("ubuntu-24.04", "ubuntu-18.04").contains("not a known runner"));
    assert!(problem_after("[macos-15]", "[macos-15, amiga]").contains("amiga"));
    assert!(problem_after("permissions: {contents: read}", "").contains("permissions"));
    assert!(problem_after("contents: read", "contents: write").contains("permissions"));
}
