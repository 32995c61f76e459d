//! Reads the files of `apply`: collections, and the jobs that they are to have.
//!
//! A file is an object, as JSON or YAML: `collection` names the collection, `properties` are those of the
//! collection, and `jobs` has the properties of each job under its name. Several files may name the
//! same collection; a job stands in one of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use minutehand_client::CollectionPath;
use minutehand_recurrence::nearest;
use serde_json::{Map, Value};

use crate::check;
use crate::failure::{Failure, Result};
use crate::input;
use crate::reference::Defaults;

/// The schema is for editors.
const NAMES: [&str; 4] = ["$schema", "collection", "properties", "jobs"];
/// The most files of one directory, with its subdirectories.
const FILES_MAX: usize = 10_000;
/// How deep directories may lie in each other.
const DEPTH_MAX: usize = 16;

/// A collection as the files have it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct WantedCollection {
    pub(super) path: CollectionPath,
    /// `None` if no file says anything about it.
    pub(super) properties: Option<Map<String, Value>>,
    /// The file that says it, else the first that names the collection.
    pub(super) file: Option<PathBuf>,
    /// In order of their names.
    pub(super) jobs: BTreeMap<String, WantedJob>,
}

/// A job as its file has it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct WantedJob {
    pub(super) properties: Map<String, Value>,
    pub(super) file: PathBuf,
}

/// Reads files and directories.
pub(super) fn read(paths: &[PathBuf], defaults: &Defaults) -> Result<Vec<WantedCollection>> {
    let mut files = Vec::new();
    for path in paths {
        find(path, 0, &mut files)?;
    }
    let (mut wanted, mut problems) = (Vec::new(), Vec::new());
    for file in &files {
        let added =
            input::object(file).and_then(|document| add(&mut wanted, file, document, defaults));
        problems.extend(added.err());
    }
    check::all(problems).map_or(Ok(wanted), Err)
}

/// Finds the files below a path: itself, or all with JSON or YAML of a directory, in order of their names.
fn find(path: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<()> {
    let failed = Failure::cannot::<std::io::Error>(format!("read {}", path.display()));
    if path == Path::new("-") || !std::fs::metadata(path).map_err(&failed)?.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let entries = std::fs::read_dir(path).map_err(&failed)?.map(|entry| Ok(entry?.path()));
    let mut entries = entries.collect::<std::io::Result<Vec<_>>>().map_err(&failed)?;
    entries.sort();
    let before = files.len();
    for entry in entries {
        if entry.is_dir() && depth < DEPTH_MAX {
            find(&entry, depth + 1, files)?;
        } else if input::is_document(&entry) && !entry.is_dir() {
            files.push(entry);
        }
        if files.len() > FILES_MAX {
            return Err(Failure::refused(format!(
                "{} has more than {FILES_MAX} files: name a smaller directory",
                path.display()
            )));
        }
    }
    if depth == 0 && files.len() == before {
        return Err(Failure::refused(format!(
            "there is no file *.json, *.yaml or *.yml in {}",
            path.display()
        )));
    }
    Ok(())
}

fn add(
    wanted: &mut Vec<WantedCollection>,
    file: &Path,
    document: Value,
    defaults: &Defaults,
) -> Result<()> {
    let refused = |why: String| Failure::refused(format!("{}: {why}", file.display()));
    let Value::Object(mut document) = document else {
        return Err(refused("it is not an object".to_owned()));
    };
    if let Some(name) = document.keys().find(|name| !NAMES.contains(&name.as_str())) {
        let hint = match nearest(name, NAMES) {
            Some(near) => format!("did you mean '{near}'?"),
            None => format!("a file has {}", NAMES.join(", ")),
        };
        return Err(refused(format!("'{name}' is not a property of a file")).hint(hint));
    }
    let path = match document.get("collection") {
        None => defaults.collection(None)?,
        Some(Value::String(name)) => defaults.collection(Some(name))?,
        Some(_) => return Err(refused("'collection' has to be a name".to_owned())),
    };
    let object = |name: &str, value: Option<Value>| match value {
        None => Ok(None),
        Some(Value::Object(object)) => Ok(Some(object)),
        Some(_) => Err(refused(format!("'{name}' has to be an object"))),
    };
    let properties = object("properties", document.remove("properties"))?;
    let jobs = object("jobs", document.remove("jobs"))?.unwrap_or_default();

    let at = wanted.iter().position(|one| one.path == path).unwrap_or_else(|| {
        let file = Some(file.to_owned());
        wanted.push(WantedCollection { path, properties: None, file, jobs: BTreeMap::new() });
        wanted.len() - 1
    });
    let Some(collection) = wanted.get_mut(at) else {
        return Ok(());
    };
    if properties.is_some() && collection.properties.is_some() {
        let name = &collection.path.collection;
        return Err(refused(format!("another file gives the 'properties' of {name}, too")));
    }
    if properties.is_some() {
        collection.properties = properties;
        collection.file = Some(file.to_owned());
    }
    for (name, job) in jobs {
        let Value::Object(properties) = job else {
            return Err(refused(format!("the job '{name}' has to be an object: its properties")));
        };
        let job = WantedJob { properties, file: file.to_owned() };
        if let Some(other) = collection.jobs.insert(name.clone(), job) {
            let other = other.file.display();
            return Err(refused(format!("the job '{name}' stands in {other}, too")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use minutehand_client::GroupPath;
    use serde_json::json;

    use super::*;

    fn read_all(documents: &[Value]) -> Result<Vec<WantedCollection>> {
        let place = GroupPath { subscription: "me".to_owned(), group: "dev".to_owned() };
        let defaults = Defaults { place, collection: None };
        let mut wanted = Vec::new();
        for (n, document) in documents.iter().enumerate() {
            let file = PathBuf::from(format!("{n}.json"));
            add(&mut wanted, &file, document.clone(), &defaults)?;
        }
        Ok(wanted)
    }

    #[test]
    fn files_of_one_collection_are_put_together() {
        let wanted = read_all(&[
            json!({"collection": "a", "jobs": {"x": {}}}),
            json!({"collection": "a", "properties": {}, "jobs": {"y": {}}}),
            json!({"$schema": "minutehand.schema.json", "jobs": {"x": {}}}),
        ])
        .unwrap();
        let names: Vec<_> = wanted
            .iter()
            .map(|one| (one.path.collection.as_str(), one.jobs.keys().collect::<Vec<_>>()))
            .collect();
        let [(a, jobs), (b, others)] = &names[..] else { panic!("{names:?}") };
        assert_eq!((*a, jobs.len(), *b, others.len()), ("a", 2, "default", 1));
    }

    #[test]
    fn what_is_wrong_names_its_file() {
        for (documents, says) in [
            (vec![json!({"collecton": "a"})], "0.json: 'collecton' is not a property of a file"),
            (vec![json!({"collection": 1})], "0.json: 'collection' has to be a name"),
            (vec![json!({"jobs": []})], "0.json: 'jobs' has to be an object"),
            (vec![json!({"jobs": {"x": 1}})], "0.json: the job 'x' has to be an object"),
            (
                vec![json!({"jobs": {"x": {}}}), json!({"jobs": {"x": {}}})],
                "1.json: the job 'x' stands in 0.json, too",
            ),
            (
                vec![json!({"properties": {}}), json!({"properties": {}})],
                "1.json: another file gives the 'properties' of default, too",
            ),
        ] {
            let message = read_all(&documents).unwrap_err().message;
            assert!(message.contains(says), "{message}");
        }
    }
}
