//! What the suite of `minutehand_testkit::conformance` covers: every method of the store's traits and of
//! the queue's.
//!
//! The check is a function from texts to a list of problems, tried below on made-up text.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use minutehand_testkit::conformance::{BACK_ENDS, behaviours, queue_behaviours};

/// The traits that a [`Subject`](minutehand_testkit::conformance::Subject) gives by functions of these
/// names. It has all others as one.
const APART: [(&str, &str); 9] = [
    ("Brakes", "brakes"),
    ("Browse", "browse"),
    ("CloudServices", "cloud_services"),
    ("HangingOrigins", "hanging"),
    ("Installation", "installation"),
    ("Deliveries", "deliveries"),
    ("DeadLetters", "letters"),
    ("Pings", "pings"),
    ("ApiSigns", "signs"),
];

/// Prints the summary. `.config/nextest.toml` shows it.
#[test]
fn behaviours_call_every_method_of_the_ports() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut ports = read_all(&root.join("shared/ports/src/store"));
    for file in ["queue.rs", "deliveries.rs", "dead_letters.rs"] {
        ports.push_str(&fs::read_to_string(root.join("shared/ports/src").join(file)).unwrap());
    }
    let mut traits = methods(&ports);
    // What stands over a store in tests is not a port.
    traits.remove("Layer");
    assert!(traits.len() > 15, "the traits are not where they are looked for");
    let suite = read_all(&root.join("shared/testkit/src/conformance"));
    assert_eq!(uncalled(&traits, &suite), [""; 0], "no behaviour calls them");
    let n_behaviours = behaviours().len() + queue_behaviours().len();
    let (n_traits, n_back_ends) = (traits.len(), BACK_ENDS.len());
    println!(
        "conformance: {n_behaviours} behaviours of {n_traits} traits on {n_back_ends} back ends"
    );
}

/// The methods of each public trait of a text.
fn methods(text: &str) -> BTreeMap<String, Vec<String>> {
    let mut traits = BTreeMap::<String, Vec<String>>::new();
    let mut current = None;
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("pub trait ") {
            current = Some(word(rest));
            traits.insert(word(rest), Vec::new());
        } else if line.starts_with('}') {
            current = None;
        } else if let Some(of) = &current {
            let line = line.strip_prefix("    ").unwrap_or_default();
            let line = line.strip_prefix("async ").unwrap_or(line);
            if let Some(rest) = line.strip_prefix("fn ") {
                traits.entry(of.clone()).or_default().push(word(rest));
            }
        }
    }
    traits
}

/// The name at the beginning of a text.
fn word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// The methods that no behaviour calls. A name that several traits have counts only where the call says
/// of which it is.
fn uncalled(traits: &BTreeMap<String, Vec<String>>, suite: &str) -> Vec<String> {
    let suite: String = suite.chars().filter(|c| !c.is_whitespace()).collect();
    let mut uncalled = Vec::new();
    for (name, methods) in traits {
        let apart = APART.iter().find(|(it, _)| it == name).map(|(_, given_by)| given_by);
        for method in methods {
            let others = traits
                .iter()
                .filter(|(it, _)| *it != name && !APART.iter().any(|(apart, _)| apart == it));
            let is_shared = others.flat_map(|(_, methods)| methods).any(|it| it == method);
            let calls = match apart {
                Some(by) => [format!("{by}.{method}("), format!("{by}().{method}(")],
                None if is_shared => [format!("{name}::{method}("), format!("{name}>::{method}(")],
                None => [format!("store.{method}("), format!("{name}::{method}(")],
            };
            let is_sent = name == "DispatchQueue" && suite.contains("queue().send(");
            if !is_sent && !calls.iter().any(|call| suite.contains(call)) {
                uncalled.push(format!("{name}::{method}"));
            }
        }
    }
    uncalled
}

fn read_all(folder: &Path) -> String {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        files.filter(|it| it.extension().is_some_and(|it| it == "rs")).collect();
    files.sort();
    files.iter().map(|file| fs::read_to_string(file).unwrap()).collect()
}

#[test]
fn a_method_without_a_call_is_found() {
    let ports = "\
pub trait Jobs: Send {
    async fn find(&self);
    /// Not fn this.
    fn shards(&self) -> u32 {
        1
    }
}

trait Private {
    fn hidden(&self);
}

pub trait Turns {
    async fn find(&self);
}

pub trait Browse {
    async fn find(&self);
}
";
    let traits = methods(ports);
    assert_eq!(traits["Jobs"], ["find", "shards"]);
    assert_eq!(traits.len(), 3);
    let all = "Jobs::find(s) Turns::find(s) subject\n.store\n.shards() subject.browse().find(1)";
    assert_eq!(uncalled(&traits, all), [""; 0]);
    let of_one = "Jobs::find(s); subject.store.find(); self.shards()";
    assert_eq!(uncalled(&traits, of_one), ["Browse::find", "Jobs::shards", "Turns::find"]);
}
