//! No file has more code than one can read at once.
//!
//! The check is a function from texts to a list of problems, tried below on made-up text. Comments, blank lines
//! and tests do not count.

use std::fs;
use std::path::Path;

/// The most lines of code of a file.
const LINES_MAX: usize = 450;

/// Files that are longer, and why.
const LONGER: [(&str, &str); 0] = [];

#[test]
fn no_file_has_too_much_code() {
    let mut files = Vec::new();
    for folder in ["functions", "shared"] {
        read(&super::workspace_root().join(folder), folder, &mut files);
    }
    assert!(files.len() > 500, "the files are not where they are looked for");
    assert_eq!(problems(&files, &LONGER), [""; 0]);
}

fn problems(files: &[(String, String)], longer: &[(&str, &str)]) -> Vec<String> {
    let mut problems = Vec::new();
    for (path, text) in files {
        let lines = code_lines(text);
        let is_listed = longer.iter().any(|(listed, _)| listed == path);
        if lines > LINES_MAX && !is_listed {
            problems.push(format!("{path} has {lines} lines of code; {LINES_MAX} are allowed"));
        } else if lines <= LINES_MAX && is_listed {
            problems.push(format!("{path} has {lines} lines of code, and need not be listed"));
        }
    }
    let gone = longer.iter().filter(|(listed, _)| !files.iter().any(|(path, _)| path == listed));
    problems.extend(gone.map(|(listed, _)| format!("{listed} is listed, and is not a file")));
    problems
}

/// Lines of code, as the command in CONTRIBUTING counts them.
fn code_lines(text: &str) -> usize {
    let code = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]"));
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    code.filter(is_code).count()
}

/// Reads the Rust files of a folder but those that are only tests.
fn read(folder: &Path, name: &str, files: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let own = path.file_name().unwrap().to_str().unwrap();
        let name = format!("{name}/{own}");
        if path.is_dir() {
            if !["tests", "benches", "node_modules", "target"].contains(&own) {
                read(&path, &name, files);
            }
        } else if own != "tests.rs" && path.extension().is_some_and(|it| it == "rs") {
            files.push((name, fs::read_to_string(&path).unwrap()));
        }
    }
}

fn long(path: &str, lines: usize) -> (String, String) {
    (path.to_owned(), "let a = 1;\n".repeat(lines))
}

#[test]
fn a_file_with_too_much_code_is_a_problem_unless_it_is_listed() {
    let files = [long("a.rs", LINES_MAX), long("b.rs", LINES_MAX + 1)];
    assert_eq!(problems(&files, &[]), ["b.rs has 451 lines of code; 450 are allowed"]);
    assert_eq!(problems(&files, &[("b.rs", "why")]), [""; 0]);
}

#[test]
fn a_file_that_need_not_be_listed_or_is_gone_is_a_problem() {
    let found = problems(&[long("a.rs", 1)], &[("a.rs", "why"), ("b.rs", "why")]);
    assert_eq!(found.len(), 2, "{found:?}");
}

#[test]
fn comments_blank_lines_and_tests_do_not_count() {
    let text = "//! What it is.\n\nlet a = 1; // one\n    // two\n#[cfg(test)]\nmod tests {}\n";
    assert_eq!(code_lines(text), 1);
}
