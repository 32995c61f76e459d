//! Source files of the workspace, and the SDK operations that they call.

use std::fs;
use std::path::Path;

/// A source file without its unit tests.
pub(super) struct Source {
    pub(super) file: String,
    pub(super) text: String,
}

impl Source {
    /// The sources in a folder of the workspace.
    pub(super) fn of(folder: &str) -> Vec<Self> {
        let files =
            fs::read_dir(root().join(folder)).unwrap_or_else(|error| panic!("{folder}: {error}"));
        let sources: Vec<Self> = files
            .map(|file| file.unwrap().path())
            .filter(|path| path.extension().is_some_and(|it| it == "rs"))
            .map(|path| {
                let text = fs::read_to_string(&path).unwrap();
                let (text, _) = text.split_once("#[cfg(test)]\nmod tests").unwrap_or((&text, ""));
                let file = path.file_name().unwrap().to_str().unwrap().to_owned();
                Self { file, text: text.to_owned() }
            })
            .collect();
        assert!(!sources.is_empty(), "{folder} has no sources");
        sources
    }

    /// The text of a file.
    pub(super) fn read(path: &str) -> String {
        fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ is in the project")
}

/// The SDK operations in a text: `get_item` for `self.client.get_item()`.
pub(super) fn sdk_calls(text: &str) -> impl Iterator<Item = String> {
    let of_a_client = text.match_indices("client").filter_map(|(at, word)| {
        let name = text.get(at + word.len()..)?.trim_start().strip_prefix('.')?;
        let (name, after) =
            name.split_at(name.find(|it: char| !it.is_alphanumeric() && it != '_')?);
        after.starts_with("()").then(|| name.to_owned())
    });
    let past_it = text.match_indices("Input::builder()").filter_map(|(at, _)| {
        let before = text.get(..at)?;
        let start = before.rfind(|it: char| !it.is_alphanumeric()).map_or(0, |at| at + 1);
        Some(in_snake_case(before.get(start..)?))
    });
    of_a_client.chain(past_it)
}

/// The name of an operation as the SDK's methods have it.
pub(super) fn in_snake_case(name: &str) -> String {
    let snake = name.chars().flat_map(|it| {
        let gap = it.is_uppercase().then_some('_');
        gap.into_iter().chain(it.to_lowercase())
    });
    snake.skip(1).collect()
}

#[test]
fn sdk_calls_are_found_across_line_breaks() {
    let text = "self.client\n    .put_item()\n; store.client.query().x(); client.clone_it; my_client: C; \
         send(BatchGetItemInput::builder())";
    let found: Vec<String> = sdk_calls(text).collect();
    assert_eq!(found, ["put_item", "query", "batch_get_item"]);
}
