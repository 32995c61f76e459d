//! Properties that hold for any document. The fuzz target and the corpus test check them.

use super::xml::{Element, Xml, XmlError, read};

/// The elements that requests have.
const NAMES: [&str; 9] = [
    "Label",
    "Description",
    "GeoRegion",
    "SchemaVersion",
    "IntrinsicSettings",
    "Plan",
    "Quota",
    "MaxJobCount",
    "MaxRecurrence",
];
/// Longer than any message: what a client sends is shortened in it.
const MESSAGE_CHARS_MAX: usize = 1_500;
/// Requests have less within each other.
const DEPTH: usize = 4;

/// Reads a document, writes what requests have of it, and reads that again.
///
/// # Panics
///
/// If one of the properties does not hold.
pub(crate) fn check(input: &[u8]) {
    match read(input) {
        Ok(element) => check_element(&element, DEPTH),
        Err(error) => check_message(&error),
    }
}

fn check_element(element: &Element, depth: usize) {
    for error in
        [element.clone().named("Other"), element.has_only(&NAMES).map(|()| element.clone())]
    {
        let _ = error.map_err(|error| check_message(&error));
    }
    for name in NAMES {
        match element.text(name) {
            Ok(Some(text)) => {
                let written = Xml::document("Top", |xml| xml.text(name, text));
                let again = read(written.as_bytes()).unwrap();
                assert_eq!(again.text(name), Ok(Some(text)), "{written}");
                assert_eq!(again.has_only(&[name]), Ok(()), "{written}");
            }
            Ok(None) => assert_eq!(element.child(name), None),
            Err(error) => check_message(&error),
        }
        if let Some(child) = element.child(name).filter(|_| depth > 0) {
            check_element(child, depth - 1);
        }
    }
}

/// A message is one short line.
fn check_message(XmlError(message): &XmlError) {
    assert!(message.chars().count() <= MESSAGE_CHARS_MAX, "{message}");
    assert!(!message.chars().any(char::is_control), "{message:?}");
}

#[cfg(test)]
mod corpus {
    use std::fs;
    use std::path::Path;

    use super::check;

    #[test]
    fn every_input_of_the_corpus_passes_the_checks() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/xml");
        let mut inputs = 0;
        for entry in fs::read_dir(corpus).unwrap() {
            let path = entry.unwrap().path();
            // If an input fails, its name is the last line in the output.
            println!("{}", path.display());
            check(&fs::read(path).unwrap());
            inputs += 1;
        }
        assert!(inputs > 50, "only {inputs} inputs");
    }
}
