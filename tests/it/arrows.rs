//! The crates, where they are and what they may know: `shared/ARCHITECTURE.md` beside the manifests.
//!
//! The checks are functions from text to a list of problems, tried below on made-up workspaces; only
//! the first two tests ask Cargo. Development dependencies are not arrows: a crate may test itself
//! with whatever it likes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

/// What the binary is called.
const PRODUCT: &str = "minutehand";

/// How the names of all other packages begin.
const PREFIX: &str = "minutehand-";

/// The crates that only compute.
const PURE: [&str; 3] = ["recurrence", "domain", "pfx"];

/// What has no place anywhere below them: runtimes, HTTP, AWS. A final `*` stands for any rest.
const FORBIDDEN_BELOW_PURE: [&str; 12] = [
    "async-*",
    "aws-*",
    "aws_*",
    "axum",
    "futures",
    "futures-*",
    "hyper",
    "hyper-*",
    "lambda_*",
    "reqwest",
    "tokio",
    "tokio-*",
];

/// What they may not name themselves. It may be in the tree: `serde_json` brings the traits.
const FORBIDDEN_IN_PURE: [&str; 3] = ["serde", "serde_core", "serde_derive"];

/// One row of the table; everything in it is borrowed from the document.
struct Row<'a> {
    folder: &'a str,
    may_know: BTreeSet<&'a str>,
}

#[test]
fn the_crates_and_their_arrows_are_those_of_the_table() {
    let document = workspace_root().join("shared/ARCHITECTURE.md");
    let document = std::fs::read_to_string(document).expect("shared/ARCHITECTURE.md is readable");
    assert_none(&arrow_problems(&metadata(), &document));
}

#[test]
fn the_pure_crates_know_no_runtime_no_network_and_no_cloud() {
    let metadata = metadata();
    let pure: Vec<_> = members(&metadata).filter(|package| PURE.contains(&name(package))).collect();
    assert!(!pure.is_empty(), "no member is called as in PURE: correct it");
    for package in pure {
        // Normal dependencies on this platform: what is built into a binary, and is on disk already.
        let tree = cargo(&[
            "tree",
            "--package",
            package["name"].as_str().unwrap_or_default(),
            "--edges",
            "normal",
            "--prefix",
            "none",
            "--locked",
            "--offline",
        ]);
        assert_none(&purity_problems(package, &tree));
    }
}

/// Compares the table in `document` with `metadata`, which is what `cargo metadata --no-deps` says.
fn arrow_problems(metadata: &Value, document: &str) -> Vec<String> {
    let rows = match rows(document) {
        Ok(rows) => rows,
        Err(problem) => return vec![problem],
    };
    let mut problems = Vec::new();

    for package in members(metadata) {
        let (name, folder) = (name(package), folder(metadata, package));
        let Some(row) = rows.get(name) else {
            problems.push(format!(
                "`{name}` is a member of the workspace without a row: add one to the table"
            ));
            continue;
        };
        if row.folder != folder {
            problems.push(format!(
                "`{name}` is in `{folder}`, its row says `{}`: correct the row, or move the crate",
                row.folder
            ));
        }
        let called = package["name"].as_str().unwrap_or_default();
        if called != PRODUCT && !called.starts_with(PREFIX) {
            problems.push(format!("`{called}` is not called `{PREFIX}…`: rename the package"));
        }
        if folder != name && !folder.ends_with(&format!("/{name}")) {
            problems.push(format!(
                "`{name}` is in `{folder}`: give the crate and its folder the same name"
            ));
        }
        for known in in_house(package).filter(|known| !row.may_know.contains(known)) {
            problems.push(format!(
                "`{name}` depends on `{known}`, which its row does not allow: take the dependency \
                 out of {folder}/Cargo.toml, or, if the arrow is meant, add `{known}` to the row"
            ));
        }
    }

    let members: BTreeSet<&str> = members(metadata).map(name).collect();
    for (name, row) in &rows {
        for missing in std::iter::once(name).chain(&row.may_know) {
            if !members.contains(missing) {
                problems.push(format!(
                    "the row of `{name}` names `{missing}`, which is no crate of the workspace: \
                     take it out until the crate exists"
                ));
            }
        }
    }
    problems
}

/// Says what does not belong below a pure crate, given what `cargo tree --prefix none` prints.
fn purity_problems(package: &Value, tree: &str) -> Vec<String> {
    let name = name(package);
    let direct = dependencies(package)
        .filter_map(|dependency| dependency["name"].as_str())
        .filter(|known| FORBIDDEN_IN_PURE.contains(known))
        .map(|known| {
            format!(
                "`{name}` depends on `{known}`: implement the traits in the crate that reads or \
                 writes the wire, and take the dependency out"
            )
        });
    let below = tree
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect::<BTreeSet<_>>()
        .into_iter()
        .filter(|known| FORBIDDEN_BELOW_PURE.iter().any(|p| matches(p, known)))
        .map(|known| {
            format!(
                "`{known}` is below `{name}`, which only computes: `cargo tree -p {PREFIX}{name} -e normal \
                 -i {known}` says who brings it; move that use to a crate that may do I/O"
            )
        });
    direct.chain(below).collect()
}

/// Whether `name` is `pattern`, or begins with what stands before its final `*`.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == pattern,
    }
}

/// Reads the table between the two markers.
fn rows(document: &str) -> Result<BTreeMap<&str, Row<'_>>, String> {
    let (_, table) = document
        .split_once("<!-- crates -->")
        .ok_or("the line `<!-- crates -->` before the table is missing: put it back")?;
    let (table, _) = table
        .split_once("<!-- /crates -->")
        .ok_or("the line `<!-- /crates -->` after the table is missing: put it back")?;
    let mut rows = BTreeMap::new();
    // The first two lines are the head and the rule under it.
    for line in table.trim().lines().skip(2) {
        let (name, row) = row(line).ok_or_else(|| {
            format!(
                "the row {line:?} cannot be read: write | `crate` | `folder` | purpose | `other`, \
                 `another` | with `nothing`, without quotes, for none"
            )
        })?;
        if rows.insert(name, row).is_some() {
            return Err(format!("`{name}` has two rows: keep one"));
        }
    }
    Ok(rows)
}

fn row(line: &str) -> Option<(&str, Row<'_>)> {
    let line = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    let [name, folder, _purpose, may_know] = cells[..] else {
        return None;
    };
    let may_know = match may_know {
        "nothing" => BTreeSet::new(),
        list => list.split(',').map(quoted).collect::<Option<_>>()?,
    };
    let folder = quoted(folder)?;
    Some((quoted(name)?, Row { folder, may_know }))
}

fn quoted(text: &str) -> Option<&str> {
    text.trim().strip_prefix('`')?.strip_suffix('`')
}

fn members(metadata: &Value) -> impl Iterator<Item = &Value> {
    // With `--no-deps` the packages are the members.
    metadata["packages"].as_array().into_iter().flatten()
}

/// The name of a package as the table has it: without the prefix that all of them share. The binary
/// is called as the product is.
fn name(package: &Value) -> &str {
    short(package["name"].as_str().expect("a package has a name"))
}

fn short(package: &str) -> &str {
    if package == PRODUCT { "local" } else { package.strip_prefix(PREFIX).unwrap_or(package) }
}

/// The folder of a package, seen from the root of the workspace.
fn folder<'a>(metadata: &Value, package: &'a Value) -> &'a str {
    let root = metadata["workspace_root"].as_str().expect("there is a workspace");
    let manifest = package["manifest_path"].as_str().expect("a package has a manifest");
    manifest
        .strip_prefix(root)
        .and_then(|path| path.strip_prefix('/')?.strip_suffix("/Cargo.toml"))
        .unwrap_or(manifest)
}

/// Normal and build dependencies.
fn dependencies(package: &Value) -> impl Iterator<Item = &Value> {
    package["dependencies"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|dependency| dependency["kind"] != "dev")
}

/// Those of them that are named by path, and so are ours.
fn in_house(package: &Value) -> impl Iterator<Item = &str> {
    dependencies(package)
        .filter(|dependency| dependency["path"].is_string())
        .filter_map(|dependency| dependency["name"].as_str())
        .map(short)
}

fn metadata() -> Value {
    let text = cargo(&["metadata", "--no-deps", "--format-version", "1", "--locked", "--offline"]);
    serde_json::from_str(&text).expect("cargo metadata prints JSON")
}

/// What a cargo command prints. It runs where the workspace is and never reaches the network.
fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(workspace_root())
        .output()
        .expect("cargo starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo {}: {errors}", arguments.join(" "));
    String::from_utf8(output.stdout).expect("cargo prints UTF-8")
}

fn workspace_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ is in the workspace")
}

fn assert_none(problems: &[String]) {
    assert!(
        problems.is_empty(),
        "shared/ARCHITECTURE.md says what the crates are and may know. To change:\n  - {}",
        problems.join("\n  - ")
    );
}

// What follows shows that the checks can fail.

/// A workspace of two crates, of which `local` has the dependencies given.
fn workspace(local_depends_on: &[Value]) -> Value {
    json!({
        "workspace_root": "/w",
        "packages": [
            { "name": "minutehand-recurrence", "manifest_path": "/w/shared/recurrence/Cargo.toml",
              "dependencies": [] },
            { "name": "minutehand", "manifest_path": "/w/functions/local/Cargo.toml",
              "dependencies": local_depends_on },
        ],
    })
}

/// A dependency on a crate of ours; a normal one has no kind, as Cargo has it.
fn on(name: &str, kind: Option<&str>) -> Value {
    json!({ "name": format!("{PREFIX}{name}"), "kind": kind, "path": format!("/w/shared/{name}") })
}

const RECURRENCE: &str = "| `recurrence` | `shared/recurrence` | instants | nothing |";
const LOCAL: &str = "| `local` | `functions/local` | the binary | `recurrence` |";

fn table(rows: &[&str]) -> String {
    let head = "| Crate | Folder | Purpose | May know |\n| --- | --- | --- | --- |";
    let rows = rows.join("\n");
    format!("Words.\n\n<!-- crates -->\n{head}\n{rows}\n<!-- /crates -->\n\n| other | table |\n")
}

/// Asserts that there is exactly one problem, and that it contains every one of `words`.
#[track_caller]
fn assert_one(problems: &[String], words: &[&str]) {
    let [problem] = problems else {
        panic!("one problem was expected, not {problems:#?}");
    };
    for word in words {
        assert!(problem.contains(word), "{problem:?} does not contain {word:?}");
    }
}

#[test]
fn a_workspace_that_matches_its_table_has_no_problem() {
    let metadata = workspace(&[on("recurrence", None)]);
    assert_none(&arrow_problems(&metadata, &table(&[RECURRENCE, LOCAL])));
}

#[test]
fn an_arrow_that_the_table_does_not_have_is_a_problem() {
    let local = "| `local` | `functions/local` | the binary | nothing |";
    for kind in [None, Some("build")] {
        let metadata = workspace(&[on("recurrence", kind)]);
        let problems = arrow_problems(&metadata, &table(&[RECURRENCE, local]));
        assert_one(&problems, &["`local` depends on `recurrence`", "functions/local/Cargo.toml"]);
    }
}

#[test]
fn a_development_dependency_is_not_an_arrow() {
    let local = "| `local` | `functions/local` | the binary | nothing |";
    let metadata = workspace(&[on("recurrence", Some("dev"))]);
    assert_none(&arrow_problems(&metadata, &table(&[RECURRENCE, local])));
}

#[test]
fn a_crate_without_a_row_is_a_problem() {
    let problems = arrow_problems(&workspace(&[]), &table(&[RECURRENCE]));
    assert_one(&problems, &["`local`", "without a row"]);
}

#[test]
fn a_row_without_a_crate_is_a_problem() {
    let domain = "| `domain` | `shared/domain` | planners | nothing |";
    let problems = arrow_problems(&workspace(&[]), &table(&[RECURRENCE, LOCAL, domain]));
    assert_one(&problems, &["the row of `domain` names `domain`", "no crate"]);
}

#[test]
fn an_arrow_to_a_crate_that_does_not_exist_is_a_problem() {
    let local = "| `local` | `functions/local` | the binary | `recurrence`, `domain` |";
    let problems = arrow_problems(&workspace(&[]), &table(&[RECURRENCE, local]));
    assert_one(&problems, &["the row of `local` names `domain`", "no crate"]);
}

#[test]
fn a_folder_that_differs_from_the_row_is_a_problem() {
    let local = "| `local` | `shared/local` | the binary | nothing |";
    let problems = arrow_problems(&workspace(&[]), &table(&[RECURRENCE, local]));
    assert_one(&problems, &["`local` is in `functions/local`", "its row says `shared/local`"]);
}

#[test]
fn a_crate_is_called_like_its_folder() {
    let mut metadata = workspace(&[]);
    metadata["packages"][1]["manifest_path"] = json!("/w/functions/desktop/Cargo.toml");
    let local = "| `local` | `functions/desktop` | the binary | nothing |";
    let problems = arrow_problems(&metadata, &table(&[RECURRENCE, local]));
    assert_one(&problems, &["`local` is in `functions/desktop`", "same name"]);
}

#[test]
fn a_table_that_cannot_be_read_is_a_problem() {
    let metadata = workspace(&[]);
    let unquoted = "| local | `functions/local` | the binary | nothing |";
    let short = "| `local` | `functions/local` | nothing |";
    for (document, words) in [
        (table(&[RECURRENCE, unquoted]), "cannot be read"),
        (table(&[RECURRENCE, short]), "cannot be read"),
        (table(&[LOCAL, LOCAL]), "`local` has two rows"),
        ("no table".to_owned(), "`<!-- crates -->` before the table is missing"),
    ] {
        assert_one(&arrow_problems(&metadata, &document), &[words]);
    }
}

#[test]
fn a_runtime_below_a_pure_crate_is_a_problem() {
    let package = json!({ "name": "minutehand-recurrence", "dependencies": [] });
    let tree = |line: &str| format!("recurrence v0.0.0 (/w/shared/recurrence)\n{line}\n");

    assert_none(&purity_problems(&package, &tree("serde_core v1.0.229")));
    for known in ["tokio", "reqwest", "aws-config", "lambda_runtime"] {
        let problems = purity_problems(&package, &tree(&format!("{known} v1.2.3 (*)")));
        assert_one(&problems, &[&format!("`{known}` is below `recurrence`")]);
    }
}

#[test]
fn serde_in_a_pure_crate_is_a_problem_outside_its_tests() {
    let package = |kind: Option<&str>| {
        let serde = json!({ "name": "serde", "kind": kind });
        json!({ "name": "minutehand-recurrence", "dependencies": [serde] })
    };
    assert_none(&purity_problems(&package(Some("dev")), ""));
    let problems = purity_problems(&package(None), "");
    assert_one(&problems, &["`recurrence` depends on `serde`"]);
}
