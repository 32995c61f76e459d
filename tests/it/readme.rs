//! The documents say what is so: links lead somewhere, and tables and examples are those of the code.
//!
//! The checks are functions from text to a list of problems, tried below on made-up documents.
//! Commands that a page shows are run in `functions/local/tests/documents.rs`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use minutehand_runtime_aws::Metric;
use serde_json::Value;

/// The folders whose Markdown files are documents.
const FOLDERS: [&str; 9] = [
    "",
    ".github",
    "infra",
    "infra/examples",
    "infra/monitoring",
    "infra/packages",
    "shared",
    "shared/docs",
    "shared/rest",
];

/// The most lines of a document, for those that are to stay short.
const LINES_MAX: [(&str, usize); 2] = [("README.md", 150), ("shared/ARCHITECTURE.md", 250)];
/// The most words of another one.
const WORDS_MAX: (&str, usize) = ("infra/README.md", 900);
/// The most words of all documents together; what changed is history, and is not counted.
const ALL_WORDS_MAX: usize = 38_000;
const HISTORY: &str = "CHANGELOG.md";
/// Who begins to read begins here, or is led here by the host of the repository.
const BEGINNINGS: [&str; 4] =
    ["README.md", "CHANGELOG.md", ".github/CONTRIBUTING.md", ".github/SECURITY.md"];

/// Each client's file; the lines that point it at a server stand between two marks.
const CLIENTS: [(&str, &str); 5] = [
    ("azure-mgmt-scheduler 2.0.0", include_str!("../clients/python/connect_2_0_0.py")),
    ("azure-mgmt-scheduler 7.0.0", include_str!("../clients/python/connect_7_0_0.py")),
    ("azure-arm-scheduler 1.2.0-preview", include_str!("../clients/node/connect.js")),
    ("azure-servicemanagement-legacy 0.20.8", include_str!("../clients/classic/python/connect.py")),
    ("azure-scheduler 0.10.4", include_str!("../clients/classic/node/connect.js")),
];

#[test]
fn every_relative_link_leads_to_a_file_and_a_heading() {
    let documents = documents();
    assert!(documents.len() > 10, "the documents are not where they are looked for");
    for (path, text) in &documents {
        // A picture is not a text, and a link to it leads to no heading.
        let exists = |target: &Path| {
            let bytes = std::fs::read(root().join(target)).ok()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        };
        assert_none(path, &link_problems(path, text, exists));
    }
}

#[test]
fn the_short_documents_are_short() {
    for (path, lines_max) in LINES_MAX {
        let lines = read(path).lines().count();
        assert!(lines <= lines_max, "{path} has {lines} lines; {lines_max} are allowed");
    }
    let (path, words_max) = WORDS_MAX;
    let words = read(path).split_whitespace().count();
    assert!(words <= words_max, "{path} has {words} words; {words_max} are allowed");
}

/// `make docs` prints the table.
#[test]
fn the_documents_are_short_together_and_each_is_linked_to() {
    let documents = documents();
    let mut all = 0;
    for (path, text) in &documents {
        let links_here = |(other, text): &&(PathBuf, String)| {
            let folder = other.parent().unwrap_or(Path::new(""));
            let mut targets = links(text).into_iter().map(|it| it.split('#').next().unwrap_or(it));
            other != path && targets.any(|it| !it.is_empty() && plain(&folder.join(it)) == *path)
        };
        let linked: Vec<_> = documents.iter().filter(links_here).collect();
        let words = text.split_whitespace().count();
        all += if path == Path::new(HISTORY) { 0 } else { words };
        let names: Vec<_> = linked.iter().map(|(path, _)| path.display().to_string()).collect();
        println!("{words:6} words  {}  linked from {}", path.display(), names.join(", "));
        let is_beginning = BEGINNINGS.iter().any(|it| path == Path::new(it));
        assert!(is_beginning || !linked.is_empty(), "no page links to {}", path.display());
    }
    println!("{all:6} words in all, without {HISTORY}");
    assert!(all <= ALL_WORDS_MAX, "{all} words; {ALL_WORDS_MAX} are allowed");
}

#[test]
fn the_migration_page_shows_the_lines_that_the_clients_run() {
    let page = read("shared/docs/azure-migration.md");
    for (client, file) in CLIENTS {
        let shown = between_marks(client, file);
        assert!(
            page.contains(&shown),
            "azure-migration.md shows other lines for {client} than\n{shown}"
        );
    }
}

#[test]
fn the_api_page_has_a_row_for_every_route() {
    let page = read("shared/docs/api.md");
    // A test of `rest` compares this description with the table of routes.
    let description: Value = serde_json::from_str(minutehand_rest::OPENAPI).unwrap();
    for (path, methods) in description["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys().filter(|key| *key != "parameters") {
            let row = api_row(&method.to_uppercase(), path);
            // A row may go on with the parameters of the query.
            let is_it = |line: &str| {
                let rest = line.strip_prefix(&row);
                rest.is_some_and(|rest| ["?", "` |", " |"].iter().any(|end| rest.starts_with(end)))
            };
            assert!(page.lines().any(is_it), "api.md has no row {row}");
        }
    }
}

/// How the row of an operation begins in the page about the API.
fn api_row(method: &str, path: &str) -> String {
    let Some(ours) = path.strip_prefix("/minutehand/v1") else {
        let (_, after) = path.split_once("/jobCollections").unwrap_or(("", path));
        return match after {
            "" => format!("| `{method}` | *(nothing)*"),
            after => format!("| `{method}` | `{after}"),
        };
    };
    let long = [
        ("/jobs/{jobName}", "J"),
        ("/jobCollections/{jobCollectionName}", "C"),
        ("/subscriptions/{subscriptionId}", "S"),
    ];
    let short = long.iter().find_map(|(long, letter)| {
        let (_, after) = ours.split_once(long)?;
        Some(format!("{letter}{after}"))
    });
    format!("| `{method} {}", short.as_deref().unwrap_or(ours))
}

#[test]
fn the_operations_page_has_a_row_for_every_metric_and_alarm_on_aws() {
    let page = read("shared/docs/operations.md");
    let in_page = first_cells(&page);
    let on_aws = Metric::ALL.map(Metric::name);
    let template = read("infra/template.yaml");
    let alarms = template.lines().filter_map(|line| line.strip_prefix("  ")?.strip_suffix(':'));
    let alarms: Vec<&str> = alarms.filter(|name| name.ends_with("Alarm")).collect();
    assert!(!alarms.is_empty(), "the template has no alarm: correct how this test finds them");
    for name in on_aws.into_iter().chain(["LateBy"]).chain(alarms) {
        assert!(in_page.contains(name), "operations.md has no row for {name}");
    }
}

#[test]
fn the_operations_page_has_a_heading_for_every_alert_and_no_other() {
    let page = read("shared/docs/operations.md");
    let headings: Vec<&str> =
        page.lines().filter_map(|line| line.strip_prefix("### Minutehand")).collect();
    let rules = read("infra/monitoring/alerts.yaml");
    let lines = || rules.lines().map(str::trim);
    let alerts: Vec<&str> =
        lines().filter_map(|line| line.strip_prefix("- alert: Minutehand")).collect();
    assert_eq!(alerts, headings);
    let runbooks: Vec<&str> = lines().filter_map(|line| line.strip_prefix("runbook: ")).collect();
    let anchors: Vec<String> = alerts
        .iter()
        .map(|alert| format!("shared/docs/operations.md#minutehand{}", alert.to_lowercase()))
        .collect();
    assert_eq!(runbooks, anchors);
}

/// The names in the first cells of all tables; a label in braces is left out.
fn first_cells(page: &str) -> BTreeSet<&str> {
    let cells = page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
    let names = cells.flat_map(|cell| cell.split(", "));
    names
        .map(|name| name.trim_matches('`'))
        .map(|name| name.split('{').next().unwrap_or(name))
        .collect()
}

/// Checks the links of a document; `read` returns a file's text by its path from the root.
fn link_problems(path: &Path, text: &str, read: impl Fn(&Path) -> Option<String>) -> Vec<String> {
    let mut problems = Vec::new();
    for link in links(text) {
        let (file, heading) = link.split_once('#').unwrap_or((link, ""));
        let folder = path.parent().unwrap_or(Path::new(""));
        let target = if file.is_empty() { path.to_owned() } else { plain(&folder.join(file)) };
        let Some(found) = read(&target) else {
            problems.push(format!("the link {link} leads to no file"));
            continue;
        };
        let is_document = target.extension().is_some_and(|extension| extension == "md");
        if !heading.is_empty() && is_document && !headings(&found).contains(heading) {
            problems.push(format!("the link {link} leads to no heading of {}", target.display()));
        }
    }
    problems
}

/// The targets of all relative links outside code.
fn links(text: &str) -> Vec<&str> {
    let mut targets = Vec::new();
    for line in outside_fences(text) {
        for part in line.split("](").skip(1) {
            let target = part.split(')').next().unwrap_or_default();
            if !target.contains("://") && !target.starts_with("mailto:") {
                targets.push(target);
            }
        }
    }
    targets
}

fn outside_fences(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// The anchors of all headings, as GitHub makes them.
fn headings(text: &str) -> BTreeSet<String> {
    let titles = outside_fences(text).filter_map(|line| {
        let title = line.trim_start_matches('#');
        (title.len() < line.len()).then(|| title.trim())
    });
    let anchor = |title: &str| {
        let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>().to_lowercase()
    };
    titles.map(anchor).collect()
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => {
                plain.pop();
            }
            std::path::Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// The lines between the marks, indented as little as can be.
fn between_marks(client: &str, file: &str) -> String {
    let mark = format!("shown: {client}");
    let lines = file.lines().skip_while(|line| !line.ends_with(&mark)).skip(1);
    let lines: Vec<&str> = lines.take_while(|line| !line.ends_with("shown: end")).collect();
    assert!(!lines.is_empty(), "nothing is marked for {client}");
    let indent_of = |line: &&str| line.len() - line.trim_start().len();
    let indent = lines.iter().filter(|line| !line.is_empty()).map(indent_of).min().unwrap_or(0);
    let lines: Vec<&str> = lines.iter().map(|line| line.get(indent..).unwrap_or("")).collect();
    lines.join("\n")
}

/// Every document with its path from the root.
fn documents() -> Vec<(PathBuf, String)> {
    let mut documents = Vec::new();
    for folder in FOLDERS {
        // `.github` came later than the others.
        let Ok(entries) = std::fs::read_dir(root().join(folder)) else { continue };
        for entry in entries {
            let path = Path::new(folder).join(entry.expect("the folder is readable").file_name());
            if path.extension().is_some_and(|extension| extension == "md") {
                let text = read(path.to_str().expect("documents have plain names"));
                documents.push((path, text));
            }
        }
    }
    documents
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ is in the workspace")
}

#[track_caller]
fn assert_none(path: &Path, problems: &[String]) {
    assert!(problems.is_empty(), "{}:\n  - {}", path.display(), problems.join("\n  - "));
}

// The tests below show that the checks can fail.

#[test]
fn a_link_to_nothing_is_a_problem_and_one_in_code_is_none() {
    let read = |path: &Path| match path.to_str() {
        Some("shared/docs/b.md") => {
            Some("# B\n## What `x` is\n```\n# no heading\n```\n".to_owned())
        }
        Some("README.md") => Some("# A".to_owned()),
        _ => None,
    };
    let problems = |text: &str| link_problems(Path::new("shared/docs/a.md"), text, read);
    for good in
        ["[b](b.md)", "[b](b.md#what-x-is), [r](../../README.md)", "[x](https://x.invalid/y)"]
    {
        assert_eq!(problems(good), [""; 0], "{good}");
    }
    assert_eq!(problems("```\n[c](c.md)\n```"), [""; 0]);
    assert_eq!(problems("[c](c.md)"), ["the link c.md leads to no file"]);
    for bad in ["b.md#what-y-is", "b.md#no-heading"] {
        let [problem] = &problems(&format!("[b]({bad})"))[..] else { panic!("{bad}") };
        assert!(problem.contains("leads to no heading of shared/docs/b.md"), "{problem}");
    }
    // A link within the document itself.
    let own = |_: &Path| Some("## here".to_owned());
    assert_eq!(link_problems(Path::new("a.md"), "[x](#here)", own), [""; 0]);
    assert_eq!(link_problems(Path::new("a.md"), "[x](#there)", own).len(), 1);
}

#[test]
fn names_are_found_in_first_cells_alone() {
    let cells = first_cells("| metric | counts |\n| `a`, `b{outcome}` | `c` |\nnot `d`\n");
    assert_eq!(cells.into_iter().collect::<Vec<_>>(), ["a", "b", "metric"]);
}
