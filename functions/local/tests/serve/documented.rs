//! What the documents show is so: each command has options that there are, and each body is taken.

use std::path::Path;

use minutehand_testkit::InTime as _;
use serde_json::{Map, Value, json};

use crate::server::{Server, command};

/// The folders whose Markdown files are documents.
const FOLDERS: [&str; 6] =
    ["", "shared", "shared/docs", "infra", "infra/examples", "infra/packages/templates"];
/// What a word may stand before so that it is a command.
const STARTERS: [&str; 3] = ["$", "sudo", "source"];

/// The blocks of some types in a document.
fn blocks(text: &str, types: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut inside: Option<(bool, String)> = None;
    for line in text.lines() {
        match (line.trim_start().strip_prefix("```"), &mut inside) {
            (Some(kind), None) => inside = Some((types.contains(&kind.trim()), String::new())),
            (Some(_), Some(_)) => {
                found.extend(inside.take().filter(|(wanted, _)| *wanted).map(|(_, text)| text));
            }
            (None, Some((_, text))) => {
                text.push_str(line);
                text.push('\n');
            }
            (None, None) => {}
        }
    }
    found
}

/// Every document, with its blocks of some types.
fn documented(types: &[&str]) -> Vec<(String, String)> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let mut found = Vec::new();
    for folder in FOLDERS {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if name != "CHANGELOG.md" && path.extension().is_some_and(|it| it == "md") {
                let text = std::fs::read_to_string(&path).unwrap();
                found.extend(blocks(&text, types).into_iter().map(|it| (name.clone(), it)));
            }
        }
    }
    found
}

/// The arguments of each `minutehand` in lines of a shell.
fn commands(block: &str) -> Vec<Vec<String>> {
    let mut block = block.replace("\\\n", " ");
    // What another command says stands for a name.
    while let Some((before, rest)) = block.split_once("$(")
        && let Some((_, after)) = rest.split_once(')')
    {
        block = format!("{before}name{after}");
    }
    let mut commands = Vec::new();
    for line in block.lines() {
        for words in parts(line) {
            let mut words = words.into_iter().skip_while(|word| STARTERS.contains(&word.as_str()));
            if words.next().is_some_and(|word| word == "minutehand") {
                commands.push(words.collect());
            }
        }
    }
    commands
}

/// The words between what divides commands in a line.
fn parts(line: &str) -> Vec<Vec<String>> {
    let mut parts: Vec<Vec<String>> = vec![Vec::new()];
    let (mut word, mut quote) = (None::<String>, None);
    for letter in line.chars() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, ' ' | '|' | '&' | ';' | '<' | '>' | '(' | ')') => {
                // `2>` is where errors go.
                let is_word = !(letter == '>' && word.as_deref() == Some("2"));
                parts.last_mut().unwrap().extend(word.take().filter(|_| is_word));
                // What a file is called that is written or read belongs to no command.
                if letter != ' ' {
                    parts.push(Vec::new());
                }
            }
            _ => word.get_or_insert_default().push(letter),
        }
    }
    parts.last_mut().unwrap().extend(word);
    parts
}

#[test]
fn every_command_of_the_documents_has_options_that_there_are() {
    let mut tried = 0;
    for (page, block) in documented(&["sh", "console"]) {
        for words in commands(&block) {
            // Whatever stands before it is read first, and refused if it is wrong.
            let mut help = std::process::Command::new(env!("CARGO_BIN_EXE_minutehand"));
            let output = help.args(&words).arg("--help").output_in_time();
            let refused = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{page}: minutehand {}\n{refused}", words.join(" "));
            tried += 1;
        }
    }
    assert!(tried > 40, "the documents have {tried} commands only: correct how they are found");
}

/// The body with what a job needs, if it does not say that itself.
fn whole_job(body: &Value) -> Value {
    let mut whole = body.clone();
    let properties = whole["properties"].as_object_mut().unwrap();
    let default = |properties: &mut Map<String, Value>, name: &str, value: Value| {
        properties.entry(name).or_insert(value);
    };
    default(properties, "startTime", json!("2027-01-01"));
    default(properties, "recurrence", json!({"frequency": "day"}));
    let request = json!({"uri": "https://example.com/", "method": "GET"});
    default(properties, "action", json!({"type": "Https", "request": request}));
    whole
}

#[test]
fn every_body_of_the_documents_is_taken() {
    let mut command = command();
    command.args(["--listen", "127.0.0.1:0", "--memory", "--no-auth"]);
    // No job fires: all begin later than the clock of the server.
    command.args(["--clock-start", "2026-12-01T00:00:00Z", "--aws-endpoint", "http://127.0.0.1:9"]);
    command.args(["--public-url", "http://127.0.0.1:9"]);
    command.envs([("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "key")]);
    command.env("AWS_REGION", "eu-west-1");
    let server = Server::spawn(command);
    let (mut jobs, mut collections) = (0, 0);
    for (page, block) in documented(&["json"]) {
        let shown = block.replace("{ … }", "{}");
        let body: Value = serde_json::from_str(&shown)
            .unwrap_or_else(|error| panic!("{page}: {error} in\n{block}"));
        // What an export of Azure has is the importer's.
        let is_settings = body["properties"].is_object() && body["apiVersion"].is_null();
        if !is_settings {
            continue;
        }
        let own = body["properties"]["minutehand"].as_object();
        let of_collections = ["onFailure", "maxPerSecond", "maxConcurrent", "timeZone"];
        let is_collection =
            own.is_some_and(|it| of_collections.iter().any(|of| it.contains_key(*of)));
        let answer = if is_collection {
            collections += 1;
            server.ask("PUT", "/documented", &body.to_string())
        } else {
            jobs += 1;
            server.must("PUT", "/documented", "{}");
            let job = format!("/documented/jobs/job{jobs}");
            server.ask("PUT", &job, &whole_job(&body).to_string())
        };
        assert!((200..300).contains(&answer.status), "{page}: {answer:?} to\n{block}");
    }
    assert!(jobs > 12 && collections > 2, "{jobs} and {collections}: correct how they are found");
}

// The test below shows that the checks can fail.

#[test]
fn commands_are_found_between_what_divides_them() {
    let block = "$ minutehand serve 2>minutehand.log &\n\
                 crontab -l | minutehand import crontab - --to 'a b'   # minutehand not\n\
                 sudo minutehand backup \"$(output X)\" \\\n  --data y; minutehand doctor\n\
                 source <(minutehand completions bash)\nminutehand.log\n";
    let found: Vec<_> = commands(block).into_iter().map(|words| words.join("+")).collect();
    let expected = [
        "serve",
        "import+crontab+-+--to+a b",
        "backup+name+--data+y",
        "doctor",
        "completions+bash",
    ];
    assert_eq!(found, expected);
    assert_eq!(blocks("```json\n{}\n```\ntext\n```sh\nls\n```\n", &["json"]), ["{}\n"]);
}
