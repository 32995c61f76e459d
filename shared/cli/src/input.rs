//! What a person gives: numbers, and files with definitions as JSON or YAML, or with secrets.

use std::fs::File;
use std::io::{self, Read as _};
use std::ops::RangeInclusive;
use std::path::Path;
use std::str::FromStr;

use minutehand_convert::yaml;
use serde_json::Value;
use zeroize::Zeroizing;

use crate::failure::{Failure, Result};

/// More than a request may have.
const BYTES_MAX: u64 = 1 << 20;

/// A path as messages name it.
fn shown(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}

/// Reads a file, or standard input for `-`.
pub(crate) fn text(path: &Path) -> Result<Zeroizing<String>> {
    let failed = Failure::cannot::<io::Error>(format!("read {}", shown(path)));
    let mut bytes = Zeroizing::new(Vec::new());
    if path == Path::new("-") {
        io::stdin().lock().take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(&failed)?;
    } else {
        let file = File::open(path).map_err(&failed)?;
        file.take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(&failed)?;
    }
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > BYTES_MAX {
        let path = shown(path);
        return Err(Failure::refused(format!("{path} is longer than {BYTES_MAX} bytes")));
    }
    let text = std::str::from_utf8(&bytes);
    let text = text.map_err(|_| Failure::refused(format!("{} is not UTF-8 text", shown(path))))?;
    // Files written by PowerShell begin with a byte-order mark.
    Ok(Zeroizing::new(text.trim_start_matches('\u{feff}').to_owned()))
}

/// Reads a secret: the content of a file, without the line break at its end.
pub(crate) fn secret(path: &Path) -> Result<Zeroizing<String>> {
    let text = text(path)?;
    let secret = text.strip_suffix('\n').unwrap_or(&text);
    let secret = secret.strip_suffix('\r').unwrap_or(secret);
    if secret.is_empty() {
        return Err(Failure::refused(format!("{} is empty", shown(path))));
    }
    Ok(Zeroizing::new(secret.to_owned()))
}

/// Reads a number of an option.
pub(crate) fn number<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| "use a whole number".to_owned())
}

/// Reads a number of an option that is not 0.
pub(crate) fn positive<T: FromStr + Default + PartialOrd>(text: &str) -> Result<T, String> {
    let number = text.parse().ok().filter(|number| *number > T::default());
    number.ok_or_else(|| "use a whole number of at least 1".to_owned())
}

/// Reads a number of an option that is in a range.
pub(crate) fn within(text: &str, range: &RangeInclusive<u32>) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| format!("use a number from {} to {}", range.start(), range.end()))
}

/// Reads a file as JSON or YAML: by its name, or else by how it begins, as an object of JSON begins with a
/// brace.
fn read(path: &Path, text: &str) -> Result<Value, String> {
    let is_json = match path.extension().and_then(|extension| extension.to_str()) {
        Some("json") => true,
        Some(extension) if YAML.contains(&extension) => false,
        _ => text.trim_start().starts_with(['{', '[']),
    };
    if is_json {
        serde_json::from_str(text).map_err(|error| format!("not valid JSON: {error}"))
    } else {
        yaml::read(text).map_err(|error| format!("not valid YAML: {error}"))
    }
}

/// Reads a text as JSON if it begins like it, else as YAML.
///
/// # Errors
///
/// What is wrong with it, and where.
pub fn document(text: &str) -> Result<Value, String> {
    read(Path::new(""), text)
}

/// How the names of files with YAML end.
const YAML: [&str; 2] = ["yaml", "yml"];

/// Whether a file has JSON or YAML, by its name.
pub(crate) fn is_document(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| extension == "json" || YAML.contains(&extension))
}

/// Reads an object, as JSON or YAML.
pub(crate) fn object(path: &Path) -> Result<Value> {
    let shown = shown(path);
    let text = text(path)?;
    if text.trim().is_empty() {
        return Err(Failure::refused(format!(
            "{shown} is empty: it has to be an object, as JSON or YAML"
        )));
    }
    let value =
        read(path, &text).map_err(|problem| Failure::refused(format!("{shown} is {problem}")))?;
    if value.is_object() {
        Ok(value)
    } else {
        Err(Failure::refused(format!(
            "{shown} is not an object: it has to consist of names with values"
        )))
    }
}
