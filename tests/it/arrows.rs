//! Compares the table of crates in `shared/ARCHITECTURE.md` with the manifests: folders, names, dependencies.
//!
//! The checks are functions from text to a list of problems. The first two tests apply them to this
//! workspace; the others show on made-up workspaces that each check can fail. Development dependencies
//! are not checked: a crate may use anything in its tests.

mod circles;
mod sizes;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

/// The package of the program.
const PRODUCT: &str = "minutehand";

/// The prefix of all other packages.
const PREFIX: &str = "minutehand-";

/// The crates without I/O.
const PURE: [&str; 5] = ["recurrence", "domain", "convert", "pfx", "archive"];

/// Packages that must not be in their dependency trees: runtimes, HTTP, AWS. A final `*` matches any
/// suffix.
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

/// Packages that they must not depend on directly. They may be in the tree, as `serde_json` needs them.
const FORBIDDEN_IN_PURE: [&str; 3] = ["serde", "serde_core", "serde_derive"];
/// A pure crate, and a package that it may depend on all the same: it reads the usual recurrences without
/// a tree of JSON, in a third of the time.
const ALLOWED_IN_PURE: [(&str, &str); 1] = [("recurrence", "serde")];

/// One row of the table.
struct Row<'a> {
    folder: &'a str,
    may_know: BTreeSet<&'a str>,
}

#[test]
fn crates_folders_and_dependencies_match_the_table() {
    let document = workspace_root().join("shared/ARCHITECTURE.md");
    let document = std::fs::read_to_string(document).expect("shared/ARCHITECTURE.md is readable");
    assert_none(&arrow_problems(&metadata(), &document));
}

#[test]
fn pure_crates_depend_on_no_runtime_no_network_and_no_cloud() {
    let metadata = metadata();
    let pure: Vec<_> = members(&metadata).filter(|package| PURE.contains(&name(package))).collect();
    assert!(!pure.is_empty(), "PURE names no member of the workspace: correct it");
    for package in pure {
        // Normal dependencies on this platform: the ones that end up in a program.
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

/// Compares the table in `document` with the output of `cargo metadata --no-deps`.
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
            problems.push(format!("`{called}` has no name like `{PREFIX}…`: rename the package"));
        }
        if folder != name && !folder.ends_with(&format!("/{name}")) {
            problems.push(format!(
                "`{name}` is in `{folder}`: give the crate and its folder the same name"
            ));
        }
        for alias in aliases(package) {
            problems.push(format!(
                "`{name}` calls a crate `{alias}`: name it by its package, so that an import says \
                 which crate it means"
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
                    "the row of `{name}` names `{missing}`, which is not a crate of the workspace: \
                     take it out until the crate exists"
                ));
            }
        }
    }
    problems
}

/// Finds forbidden packages in the output of `cargo tree --prefix none` for a pure crate.
fn purity_problems(package: &Value, tree: &str) -> Vec<String> {
    let name = name(package);
    let direct = dependencies(package)
        .filter_map(|dependency| dependency["name"].as_str())
        .filter(|known| FORBIDDEN_IN_PURE.contains(known))
        .filter(|known| !ALLOWED_IN_PURE.contains(&(name, *known)))
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
                "`{name}` depends on `{known}` indirectly, but must not do I/O: `cargo tree -p \
                 {PREFIX}{name} -e normal -i {known}` shows the path; move that use to another crate"
            )
        });
    direct.chain(below).collect()
}

/// Whether `name` equals `pattern`, or has its prefix if `pattern` ends with `*`.
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
    // The first two lines are the header and the line under it.
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
    // With `--no-deps`, `packages` lists only the members.
    metadata["packages"].as_array().into_iter().flatten()
}

/// The name of a package in the table: without the common prefix, and `local` for the program.
fn name(package: &Value) -> &str {
    short(package["name"].as_str().expect("a package has a name"))
}

fn short(package: &str) -> &str {
    if package == PRODUCT { "local" } else { package.strip_prefix(PREFIX).unwrap_or(package) }
}

/// The folder of a package, relative to the workspace.
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

/// The dependencies on other crates of the workspace, which have a path.
fn in_house(package: &Value) -> impl Iterator<Item = &str> {
    dependencies(package)
        .filter(|dependency| dependency["path"].is_string())
        .filter_map(|dependency| dependency["name"].as_str())
        .map(short)
}

/// The names that a manifest gives to packages in place of their own, in its tests too.
fn aliases(package: &Value) -> impl Iterator<Item = &str> {
    package["dependencies"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|dependency| dependency["rename"].as_str())
}

fn metadata() -> Value {
    let text = cargo(&["metadata", "--no-deps", "--format-version", "1", "--locked", "--offline"]);
    serde_json::from_str(&text).expect("cargo metadata prints JSON")
}

/// Runs cargo in the workspace, without the network, and returns its output.
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
        "the crates differ from the table in shared/ARCHITECTURE.md:\n  - {}",
        problems.join("\n  - ")
    );
}

// The tests below show that each check can fail.

/// A workspace of two crates, of which `local` has these dependencies.
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

/// A dependency on a crate of the workspace. As in Cargo's output, a normal one has no kind.
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

/// Asserts that there is exactly one problem and that it contains all of `words`.
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
fn a_dependency_that_is_not_in_the_table_is_a_problem() {
    let local = "| `local` | `functions/local` | the binary | nothing |";
    for kind in [None, Some("build")] {
        let metadata = workspace(&[on("recurrence", kind)]);
        let problems = arrow_problems(&metadata, &table(&[RECURRENCE, local]));
        assert_one(&problems, &["`local` depends on `recurrence`", "functions/local/Cargo.toml"]);
    }
}

#[test]
fn a_crate_under_another_name_is_a_problem() {
    for kind in [None, Some("dev")] {
        let mut metadata = workspace(&[on("recurrence", kind)]);
        metadata["packages"][1]["dependencies"][0]["rename"] = json!("recurrence");
        let problems = arrow_problems(&metadata, &table(&[RECURRENCE, LOCAL]));
        assert_one(&problems, &["`local` calls a crate `recurrence`"]);
    }
}

#[test]
fn a_development_dependency_is_not_checked() {
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
    assert_one(&problems, &["the row of `domain` names `domain`", "not a crate"]);
}

#[test]
fn a_row_that_names_an_unknown_crate_is_a_problem() {
    let local = "| `local` | `functions/local` | the binary | `recurrence`, `domain` |";
    let problems = arrow_problems(&workspace(&[]), &table(&[RECURRENCE, local]));
    assert_one(&problems, &["the row of `local` names `domain`", "not a crate"]);
}

#[test]
fn a_folder_that_differs_from_the_row_is_a_problem() {
    let local = "| `local` | `shared/local` | the binary | nothing |";
    let problems = arrow_problems(&workspace(&[]), &table(&[RECURRENCE, local]));
    assert_one(&problems, &["`local` is in `functions/local`", "its row says `shared/local`"]);
}

#[test]
fn a_crate_must_have_the_name_of_its_folder() {
    let mut metadata = workspace(&[]);
    metadata["packages"][1]["manifest_path"] = json!("/w/functions/desktop/Cargo.toml");
    let local = "| `local` | `functions/desktop` | the binary | nothing |";
    let problems = arrow_problems(&metadata, &table(&[RECURRENCE, local]));
    assert_one(&problems, &["`local` is in `functions/desktop`", "same name"]);
}

#[test]
fn an_unreadable_table_is_a_problem() {
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
fn a_runtime_in_the_tree_of_a_pure_crate_is_a_problem() {
    let package = json!({ "name": "minutehand-recurrence", "dependencies": [] });
    let tree = |line: &str| format!("recurrence v0.0.0 (/w/shared/recurrence)\n{line}\n");

    assert_none(&purity_problems(&package, &tree("serde_core v1.0.229")));
    for known in ["tokio", "reqwest", "aws-config", "lambda_runtime"] {
        let problems = purity_problems(&package, &tree(&format!("{known} v1.2.3 (*)")));
        assert_one(&problems, &[&format!("`recurrence` depends on `{known}` indirectly")]);
    }
}

#[test]
fn a_pure_crate_may_use_serde_only_in_its_tests() {
    let package = |kind: Option<&str>| {
        let serde = json!({ "name": "serde", "kind": kind });
        json!({ "name": "minutehand-domain", "dependencies": [serde] })
    };
    assert_none(&purity_problems(&package(Some("dev")), ""));
    let problems = purity_problems(&package(None), "");
    assert_one(&problems, &["`domain` depends on `serde`"]);
}
