//! One word for one idea: `shared/GLOSSARY.md` beside the code.
//!
//! The checks are functions from text to a list of problems, tried below on made-up text.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Names that may stand in several crates, each with the reason.
const SHARED_NAMES: &[(&str, &str)] = &[];

#[test]
fn no_public_type_name_stands_twice() {
    let sources = sources();
    assert!(sources.len() > 100, "the sources are not where they are looked for");
    let sources = sources.iter().map(|(path, text)| (path.as_str(), text.as_str()));
    assert_none(&name_problems(sources, SHARED_NAMES));
}

#[test]
fn every_word_of_the_glossary_is_used() {
    let glossary = read(&root().join("shared/GLOSSARY.md"));
    let pages = markdown(&root().join("shared/docs"));
    let pages = pages
        .into_iter()
        .chain(["README.md", "shared/ARCHITECTURE.md"].map(|path| root().join(path)));
    let used: String = pages.map(|path| read(&path)).chain(sources().into_values()).collect();
    assert_none(&word_problems(&glossary, &used));
}

/// Finds public types of one name, given sources by their path from `shared`.
///
/// `allowed` are the names that may stand more than once; one that does not is a problem too.
fn name_problems<'a>(
    sources: impl IntoIterator<Item = (&'a str, &'a str)>,
    allowed: &[(&str, &str)],
) -> Vec<String> {
    let mut places: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (path, text) in sources {
        for name in text.lines().filter_map(public_type) {
            places.entry(name).or_default().push(path);
        }
    }
    places.retain(|_, paths| paths.len() > 1);
    let is_allowed = |name: &str| allowed.iter().any(|(known, _)| *known == name);
    let twice = places.iter().filter(|(name, _)| !is_allowed(name)).map(|(name, paths)| {
        format!("`{name}` is a public type of {}: rename one of them", paths.join(" and "))
    });
    let unused = allowed.iter().filter(|(name, _)| !places.contains_key(name));
    let unused = unused.map(|(name, _)| {
        format!("`{name}` stands once by now: take it out of SHARED_NAMES in tests/it/glossary.rs")
    });
    twice.chain(unused).collect()
}

/// The name of a public type that a line declares at the level of its module.
fn public_type(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub ")?;
    let rest = rest.strip_prefix("unsafe ").unwrap_or(rest);
    let kinds = ["struct ", "enum ", "trait ", "type ", "union "];
    let rest = kinds.iter().find_map(|kind| rest.strip_prefix(kind))?;
    rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().filter(|name| !name.is_empty())
}

/// Finds headings of the glossary that are in no other text, and words that have two headings.
fn word_problems(glossary: &str, used: &str) -> Vec<String> {
    let used = words(used);
    let mut problems = Vec::new();
    let mut seen = BTreeSet::new();
    for heading in glossary.lines().filter_map(|line| line.strip_prefix("## ")) {
        if !seen.insert(heading) {
            problems.push(format!("the glossary has `{heading}` twice: keep one"));
        }
        let padded = format!(" {} ", words(heading).trim());
        // A plural, and a verb with an ending, are the same word.
        let stem = padded.trim_end();
        if !used.contains(&padded) && !used.contains(&format!("{stem}s ")) {
            problems.push(format!(
                "`{heading}` is used neither in the code nor in the documents: use it, or take it \
                 out of the glossary"
            ));
        }
    }
    if seen.is_empty() {
        problems.push("the glossary has no word, as `## word`".to_owned());
    }
    problems
}

/// A text as words in lower case with one space around each; an identifier is its parts.
fn words(text: &str) -> String {
    let mut words = String::with_capacity(text.len() + 2);
    words.push(' ');
    let mut was_lower = false;
    for c in text.chars() {
        if c.is_alphanumeric() {
            if c.is_uppercase() && was_lower {
                words.push(' ');
            }
            was_lower = !c.is_uppercase();
            words.extend(c.to_lowercase());
        } else {
            was_lower = false;
            if !words.ends_with(' ') {
                words.push(' ');
            }
        }
    }
    words.push(' ');
    words
}

/// The sources of all crates in `shared`, by their path from there.
fn sources() -> BTreeMap<String, String> {
    let shared = root().join("shared");
    let mut sources = BTreeMap::new();
    let mut folders: Vec<PathBuf> = entries(&shared)
        .into_iter()
        .map(|path| path.join("src"))
        .filter(|it| it.is_dir())
        .collect();
    while let Some(folder) = folders.pop() {
        for path in entries(&folder) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(&shared).expect("it was found there");
                sources.insert(name.display().to_string(), read(&path));
            }
        }
    }
    sources
}

fn markdown(folder: &Path) -> Vec<PathBuf> {
    let is_markdown = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "md");
    entries(folder).into_iter().filter(is_markdown).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder is readable");
    entries.map(|entry| entry.expect("the folder is readable").path()).collect()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ is in the workspace")
}

#[track_caller]
fn assert_none(problems: &[String]) {
    assert!(problems.is_empty(), "to change:\n  - {}", problems.join("\n  - "));
}

// The tests below show that the checks can fail.

#[test]
fn a_name_that_stands_twice_is_a_problem_unless_it_has_a_reason() {
    let one =
        ("a/src/lib.rs", "pub struct Job;\npub(crate) struct Hidden;\n    pub struct Inner;\n");
    let two = ("b/src/job.rs", "pub enum Job<T> {\npub struct Hidden {\n    pub struct Inner;\n");
    let problems = name_problems([one, two], &[]);
    assert_eq!(
        problems,
        ["`Job` is a public type of a/src/lib.rs and b/src/job.rs: rename one of them"]
    );
    assert_none(&name_problems([one, two], &[("Job", "a reason")]));
    // A reason that is needed no more.
    let [problem] = &name_problems([one], &[("Job", "a reason")])[..] else {
        panic!("one problem")
    };
    assert!(problem.contains("`Job` stands once"), "{problem}");
}

#[test]
fn every_kind_of_type_is_found() {
    for (line, name) in [
        ("pub struct Page<T> {", Some("Page")),
        ("pub enum Claimed {", Some("Claimed")),
        ("pub trait JobStore: Send + Sync {", Some("JobStore")),
        ("pub type Answer = u8;", Some("Answer")),
        ("pub fn page() {", None),
        ("pub(crate) struct Page;", None),
        ("    pub struct Page;", None),
        ("// pub struct Page;", None),
    ] {
        assert_eq!(public_type(line), name, "{line}");
    }
}

#[test]
fn a_word_that_nobody_uses_is_a_problem() {
    let glossary = "# Glossary\n\n## claim\n\nText.\n\n## work item\n\nText.\n";
    for used in ["claim WorkItem", "Claims, and two work items", "x_claim_y Work-Item"] {
        assert_none(&word_problems(glossary, used));
    }
    for used in ["claim", "claim working items", "proclaim WorkItem", ""] {
        assert!(!word_problems(glossary, used).is_empty(), "{used}");
    }
    let twice = word_problems("## claim\n## claim\n", "claim");
    assert_eq!(twice, ["the glossary has `claim` twice: keep one"]);
    assert_eq!(word_problems("no headings", "claim").len(), 1);
}
