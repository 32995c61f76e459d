//! Lists of a bucket, as XML.

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::Event;

/// A page of a list.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Listing {
    /// Names of objects and of folders, as they are in the bucket.
    pub(crate) keys: Vec<String>,
    /// Where the next page begins.
    pub(crate) next: Option<String>,
}

/// Reads a page.
pub(crate) fn read(xml: &[u8]) -> Result<Listing, String> {
    let text = std::str::from_utf8(xml).map_err(|error| error.to_string())?;
    let mut reader = Reader::from_str(text);
    let (mut listing, mut path) = (Listing::default(), Vec::<String>::new());
    let mut value = String::new();
    loop {
        match reader.read_event().map_err(|error| error.to_string())? {
            Event::Start(start) => {
                path.push(start.local_name().into_inner().to_owned());
                value.clear();
            }
            Event::Text(text) => value.push_str(&text.xml10_content()),
            Event::GeneralRef(entity) => {
                let number = entity.resolve_char_ref().map_err(|error| error.to_string())?;
                let name = entity.xml10_content();
                match (number, resolve_predefined_entity(&name)) {
                    (Some(character), _) => value.push(character),
                    (None, Some(text)) => value.push_str(text),
                    (None, None) => return Err(format!("&{name}; is unknown")),
                }
            }
            Event::End(_) => {
                let names: Vec<&str> = path.iter().map(String::as_str).collect();
                match names.as_slice() {
                    [_, "Contents", "Key"] | [_, "CommonPrefixes", "Prefix"] => {
                        listing.keys.push(std::mem::take(&mut value));
                    }
                    [_, "NextContinuationToken"] => {
                        listing.next = Some(std::mem::take(&mut value));
                    }
                    _ => {}
                }
                path.pop();
            }
            Event::Eof if path.is_empty() => return Ok(listing),
            Event::Eof => return Err("it ends too early".to_owned()),
            _ => {}
        }
    }
}
