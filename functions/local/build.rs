//! Sets `MINUTEHAND_COMMIT`, the commit.
//!
//! `functions/api` uses this script, too.

use std::process::Command;

fn main() {
    // A source archive has no history.
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=MINUTEHAND_COMMIT={commit}");
    for file in ["HEAD", "logs/HEAD"] {
        // Git is asked for the path: in a linked working tree `.git` is a file.
        if let Some(path) = git(&["rev-parse", "--path-format=absolute", "--git-path", file]) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
    Some(text.trim().to_owned())
}
