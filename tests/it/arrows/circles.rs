//! Modules of a crate import each other in one direction only.
//!
//! The check is a function from texts to a list of problems, tried below on made-up text. A module is a
//! file or a folder; modules of one folder are compared with each other. Unit tests are not checked.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Pairs of modules that are one thought in two files: the crate, the module that imports against the
/// direction, the one that it imports, and why it does.
const ONE_THOUGHT: [(&str, &str, &str, &str); 14] = [
    ("actions", "aws::role", "aws::sign", "the request for a role's credentials is signed"),
    ("actions", "outcome::redact::runs", "outcome::redact::view", "runs are found in views"),
    ("cli", "job::create", "job::questions", "what is not given is asked for"),
    ("cli", "masked", "job", "the job's module knows which properties are credentials"),
    ("client", "transport", "arm", "a request may have a precondition"),
    ("domain", "attempt", "firing", "an attempt says what it waited for"),
    (
        "domain",
        "firing::outage",
        "firing::plan",
        "what an outage cost ends where a plan looks last",
    ),
    ("domain", "recent", "firing", "the last results have what was left out, and why"),
    ("domain", "schedule", "goes_on", "the line of a schedule says whether it goes on"),
    ("local", "serve", "archive", "the server runs the archive, and says how it is"),
    ("recurrence", "recurrence", "usual", "a usual recurrence is read without a tree of JSON"),
    ("rest", "classic::failure", "classic::request", "a failed condition shows the ETag"),
    ("rest", "failure", "near", "an unknown path is answered with the routes that are near it"),
    ("store-dynamodb", "table::client", "table::get_many", "a table reads many items at once"),
];

type Module = Vec<String>;
type Imports = BTreeMap<Module, BTreeSet<Module>>;

#[test]
fn modules_of_a_crate_import_each_other_in_one_direction() {
    let mut problems = Vec::new();
    let mut used = BTreeSet::new();
    let root = super::workspace_root();
    for krate in ["shared", "functions"].iter().flat_map(|folder| folders(&root.join(folder))) {
        let source = krate.join("src");
        if !source.is_dir() {
            continue;
        }
        let name = krate.file_name().unwrap().to_str().unwrap();
        let mut files = BTreeMap::new();
        read(&source, &mut Vec::new(), &mut files);
        problems.extend(circles(name, &files, &ONE_THOUGHT, &mut used));
    }
    for (n, (krate, from, to, _)) in ONE_THOUGHT.iter().enumerate() {
        if !used.contains(&n) {
            problems.push(format!("`{krate}`: `{from}` no longer imports `{to}` in a circle"));
        }
    }
    assert_eq!(problems, [""; 0]);
}

/// The circles of a crate, each as the imports that it consists of. Notes which pairs it needed.
fn circles(
    krate: &str,
    files: &BTreeMap<Module, String>,
    one_thought: &[(&str, &str, &str, &str)],
    used: &mut BTreeSet<usize>,
) -> Vec<String> {
    let mut by_folder = BTreeMap::<Module, Imports>::new();
    for (module, text) in files {
        for other in imported(module, text, files) {
            let shared = module.iter().zip(&other).take_while(|(one, other)| one == other).count();
            if module.len() > shared && other.len() > shared {
                let folder = by_folder.entry(module[..shared].to_vec()).or_default();
                let from = folder.entry(module[..=shared].to_vec()).or_default();
                from.insert(other[..=shared].to_vec());
            }
        }
    }
    let mut found = Vec::new();
    for imports in by_folder.values() {
        let all = in_circles(imports.clone());
        let mut rest = all.clone();
        for (n, (of, from, to, _)) in one_thought.iter().enumerate() {
            let is_here = |others: &BTreeSet<Module>| others.contains(&path(to));
            if *of == krate && all.get(&path(from)).is_some_and(is_here) {
                used.insert(n);
                rest.get_mut(&path(from)).unwrap().remove(&path(to));
            }
        }
        for (from, others) in in_circles(rest) {
            for to in others {
                let (from, to) = (from.join("::"), to.join("::"));
                found.push(format!("`{krate}`: `{from}` imports `{to}` in a circle"));
            }
        }
    }
    found
}

/// The imports that are left when modules go that import nothing, or that nothing imports.
fn in_circles(mut imports: Imports) -> Imports {
    loop {
        let before: usize = imports.values().map(BTreeSet::len).sum();
        let importing: BTreeSet<Module> =
            imports.iter().filter(|(_, to)| !to.is_empty()).map(|(from, _)| from.clone()).collect();
        let imported: BTreeSet<Module> = imports.values().flatten().cloned().collect();
        imports.retain(|from, _| imported.contains(from));
        for others in imports.values_mut() {
            others.retain(|to| importing.contains(to));
        }
        if imports.values().map(BTreeSet::len).sum::<usize>() == before {
            imports.retain(|_, others| !others.is_empty());
            return imports;
        }
    }
}

/// The modules that a file names.
fn imported(module: &Module, text: &str, files: &BTreeMap<Module, String>) -> BTreeSet<Module> {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code: Vec<&str> =
        text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let code = code.join("\n");
    let mut paths = Vec::new();
    for (start, _) in code.match_indices("crate::") {
        if !code[..start].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$') {
            paths.extend(tree(Vec::new(), &code[start + "crate::".len()..]).0);
        }
    }
    for (start, _) in code.match_indices("super::") {
        if code[..start].ends_with("super::") {
            continue;
        }
        let (mut base, mut rest) = (module.clone(), &code[start..]);
        while let Some(below) = rest.strip_prefix("super::") {
            base.pop();
            rest = below;
        }
        paths.extend(tree(base, rest).0);
    }
    let known = |path: &Module| {
        let prefixes = (1..=path.len()).rev().map(|n| path[..n].to_vec());
        prefixes.into_iter().find(|prefix| files.contains_key(prefix))
    };
    paths.iter().filter_map(known).filter(|it| it != module).collect()
}

/// The paths of a tree of imports, and what follows it.
fn tree(base: Module, text: &str) -> (Vec<Module>, &str) {
    let text = text.trim_start();
    if let Some(mut rest) = text.strip_prefix('{') {
        let mut paths = Vec::new();
        loop {
            let (found, after) = tree(base.clone(), rest);
            paths.extend(found);
            // What an item is called otherwise.
            let end = after.find([',', '}']).unwrap_or(after.len());
            match after[end..].strip_prefix(',') {
                Some(next) => rest = next,
                None => return (paths, after.get(end + 1..).unwrap_or_default()),
            }
        }
    }
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let mut path = base;
    if end > 0 {
        path.push(text[..end].to_owned());
    }
    match text[end..].strip_prefix("::") {
        Some(rest) if end > 0 => tree(path, rest),
        _ => (vec![path], &text[end..]),
    }
}

fn path(text: &str) -> Module {
    text.split("::").map(str::to_owned).collect()
}

fn folders(of: &Path) -> Vec<std::path::PathBuf> {
    let mut folders: Vec<_> = fs::read_dir(of).unwrap().map(|it| it.unwrap().path()).collect();
    folders.retain(|it| it.is_dir());
    folders.sort();
    folders
}

/// The files of a crate by their modules, without the root and without files of tests.
fn read(folder: &Path, base: &mut Module, files: &mut BTreeMap<Module, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            base.push(stem);
            read(&path, base, files);
            base.pop();
        } else if path.extension().is_some_and(|it| it == "rs") && stem != "tests" {
            let is_root = ["lib", "main", "mod"].contains(&stem.as_str());
            let module = if is_root { base.clone() } else { [&base[..], &[stem]].concat() };
            if !module.is_empty() {
                files.insert(module, fs::read_to_string(&path).unwrap());
            }
        }
    }
}

/// The circles of these files, with these pairs allowed.
fn found(files: &[(&str, &str)], one_thought: &[(&str, &str, &str, &str)]) -> Vec<String> {
    let files = files.iter().map(|(module, text)| (path(module), (*text).to_owned())).collect();
    circles("made-up", &files, one_thought, &mut BTreeSet::new())
}

#[test]
fn a_circle_is_found_however_it_is_written() {
    let b = ("b", "use crate::c;\nuse super::d;");
    for import in [
        "use crate::b;",
        "use crate::b::{self, X};",
        "use crate::{d, b as other};",
        "use super::{d, b::X};",
        "fn f() { crate::b::g() }",
    ] {
        let c = ("c", "use super::a::Y;");
        let problems = found(&[("a", import), b, c, ("d", "")], &[]);
        assert_eq!(problems.len(), 3, "{import}: {problems:?}");
        assert_eq!(problems[0], "`made-up`: `a` imports `b` in a circle");
        let why = [("made-up", "c", "a", "it is a test")];
        assert_eq!(found(&[("a", import), b, c, ("d", "")], &why), [""; 0]);
    }
}

#[test]
fn modules_in_a_folder_are_compared_with_each_other_and_with_none_outside() {
    let inside = [("a", "use b::X;"), ("a::b", "use super::c;"), ("a::c", "use super::{Y, b};")];
    assert_eq!(
        found(&inside, &[]),
        [
            "`made-up`: `a::b` imports `a::c` in a circle",
            "`made-up`: `a::c` imports `a::b` in a circle"
        ]
    );
    // Two files of two folders: the folders are a circle.
    let outside = [("a::b", "use crate::d::e::F;"), ("d::e", "use crate::a::b;")];
    assert_eq!(found(&outside, &[]).len(), 2);
}

#[test]
fn comments_tests_and_the_own_folder_are_no_circle() {
    let files = [
        ("a", "// use crate::b;\n\n#[cfg(test)]\nmod tests {\n    use crate::b;\n}"),
        ("b", "use crate::a;\nuse $crate::b;"),
        ("b::c", "use super::X;\nuse super::super::a;"),
    ];
    assert_eq!(found(&files, &[]), [""; 0]);
}
