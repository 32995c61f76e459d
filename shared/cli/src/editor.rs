//! A document in an editor, again and again until the server accepts it.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use minutehand_client::Error;
use serde_json::Value;

use crate::failure::{Failure, INTERRUPTED, Result};
use crate::output::ask;
use crate::work::Work;

const EDITOR_DEFAULT: &str = "vi";
/// What a line that is not part of the document begins with.
const REMARK: &str = "//";

/// A file that only its owner can read, and that is gone at the end.
struct Draft(PathBuf);

impl Drop for Draft {
    fn drop(&mut self) {
        // What cannot be deleted is in the directory for temporary files, for its owner only.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Lets a person edit a document, and saves it. `otherwise` names the command that needs no terminal.
pub(crate) async fn edit(
    work: &Work,
    name: &str,
    otherwise: &str,
    before: &Value,
    save: impl AsyncFn(Value) -> Result<(), Error>,
) -> Result<()> {
    if !work.screen.asks {
        return Err(Failure::refused(format!(
            "an editor needs a terminal; `{otherwise}` does not"
        )));
    }
    let before = serde_json::to_string_pretty(before).unwrap_or_default();
    let draft = draft(work)?;
    let mut text =
        format!("{REMARK} {name}: save and quit to change it, or change nothing\n{before}\n");
    loop {
        write(&draft.0, &text)?;
        open_editor(work, &draft.0)?;
        let edited = std::fs::read_to_string(&draft.0);
        let edited = edited.map_err(Failure::cannot("read the edited text"))?;
        let document = without_remarks(&edited);
        if document.trim() == before.trim() || document.trim().is_empty() {
            work.screen.note("nothing was changed");
            return Ok(());
        }
        let refusal = match serde_json::from_str::<Value>(&document) {
            Err(error) => format!("this is not valid JSON: {error}"),
            Ok(edited) => match save(edited).await {
                Ok(()) => return work.screen.line(&format!("changed {name}")),
                Err(Error::Refused(refusal)) if refusal.status == 400 => refusal.message,
                Err(error) => return Err(error.into()),
            },
        };
        work.screen.note(&format!("error: {refusal}"));
        if ask::confirm(&work.screen, "Edit it again?", false).is_err() {
            return Err(Failure::new(INTERRUPTED, "nothing was changed"));
        }
        text = format!("{REMARK} {}\n{document}", refusal.replace('\n', " "));
    }
}

fn without_remarks(text: &str) -> String {
    let lines = text.lines().skip_while(|line| line.trim_start().starts_with(REMARK));
    lines.flat_map(|line| [line, "\n"]).collect()
}

fn draft(work: &Work) -> Result<Draft> {
    let dir = work.environment.set("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    let name = format!("minutehand-{}.json", std::process::id());
    let path = dir.join(name);
    let mut options = std::fs::OpenOptions::new();
    options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)
        .map_err(Failure::cannot(format!("create {}", path.display())))?;
    Ok(Draft(path))
}

fn write(path: &Path, text: &str) -> Result<()> {
    let write = || -> std::io::Result<()> {
        let mut file = std::fs::OpenOptions::new().write(true).truncate(true).open(path)?;
        file.write_all(text.as_bytes())
    };
    write().map_err(Failure::cannot(format!("write {}", path.display())))
}

fn open_editor(work: &Work, path: &Path) -> Result<()> {
    let set = |name| work.environment.set(name);
    let editor = set("VISUAL").or_else(|| set("EDITOR")).unwrap_or(EDITOR_DEFAULT.to_owned());
    // The variable may hold arguments: `code --wait`.
    let status = Command::new("sh")
        .args(["-c", &format!("{editor} \"$1\""), "sh"])
        .arg(path)
        .status()
        .map_err(Failure::cannot(format!("start {editor}")))?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::failed(format!("{editor} ended with {status}: nothing was changed")))
    }
}
