//! Reads a small document into a tree.
//!
//! Elements are found by their local names in any case, because clients spell them differently, and
//! namespaces do not matter. Attributes are ignored, except `nil`: such an element counts as absent.
//!
//! Nothing that a document says makes it grow: there are no entities of its own, and no document type.

use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesDecl, BytesRef, BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

/// The most elements within each other.
const DEPTH_MAX: usize = 16;
/// The most elements of a document.
const ELEMENTS_MAX: usize = 256;
/// The most characters of a name that a message repeats.
const NAME_CHARS_MAX: usize = 60;
/// The most characters of a message of the parser, which may repeat a name.
const PROBLEM_CHARS_MAX: usize = 300;
/// U+FEFF, which some programs write before a document.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// An element: with other elements, or with text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::classic) struct Element {
    /// The name without its prefix, as it was sent.
    name: String,
    text: String,
    children: Vec<Element>,
    /// Whether it says that it has no value.
    is_nil: bool,
}

/// Why a document is refused. The message says where, and quotes no values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::classic) struct XmlError(pub(in crate::classic) String);

impl Element {
    /// Checks the name of the element at the top.
    pub(in crate::classic) fn named(self, name: &str) -> Result<Self, XmlError> {
        if self.name.eq_ignore_ascii_case(name) {
            return Ok(self);
        }
        let sent = shown(&self.name);
        Err(XmlError(format!("The root element is '{sent}'; it has to be '{name}'.")))
    }

    /// Checks that the element has no others than these, and none of them twice.
    pub(in crate::classic) fn has_only(&self, known: &[&str]) -> Result<(), XmlError> {
        let mut seen: Vec<&str> = Vec::new();
        for child in &self.children {
            let known = known.iter().find(|known| known.eq_ignore_ascii_case(&child.name));
            let (own, sent) = (shown(&self.name), shown(&child.name));
            let Some(known) = known else {
                return Err(XmlError(format!("'{own}' has an unknown element, '{sent}'.")));
            };
            if seen.contains(known) {
                return Err(XmlError(format!("'{own}' has '{sent}' twice.")));
            }
            seen.push(known);
        }
        if self.text.trim().is_empty() {
            return Ok(());
        }
        let own = shown(&self.name);
        Err(XmlError(format!("'{own}' has text; it has to have elements only.")))
    }

    /// An element in this one; `None` if it is absent or nil.
    pub(in crate::classic) fn child(&self, name: &str) -> Option<&Self> {
        let mut named = self.children.iter().filter(|it| it.name.eq_ignore_ascii_case(name));
        named.next().filter(|child| !child.is_nil)
    }

    /// The text of an element in this one; `None` if it is absent or nil.
    pub(in crate::classic) fn text(&self, name: &str) -> Result<Option<&str>, XmlError> {
        let Some(child) = self.child(name) else {
            return Ok(None);
        };
        if child.children.is_empty() {
            return Ok(Some(&child.text));
        }
        let own = shown(&child.name);
        Err(XmlError(format!("'{own}' has elements; it has to have text only.")))
    }
}

/// Reads a document.
///
/// # Errors
///
/// If it is not well-formed XML in UTF-8, or exceeds a limit.
pub(in crate::classic) fn read(document: &[u8]) -> Result<Element, XmlError> {
    let text = std::str::from_utf8(document)
        .map_err(|error| XmlError(format!("It is not UTF-8 at byte {}.", error.valid_up_to())))?;
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    if text.trim().is_empty() {
        return Err(XmlError("It is empty; send an XML document.".to_owned()));
    }
    let mut reader = Reader::from_str(text);
    let mut tree = Tree::default();
    let mut is_first = true;
    // Each round takes at least one byte.
    loop {
        let at = reader.buffer_position();
        let problem = |what: &str| XmlError(format!("{} (at byte {at}).", printable(what)));
        let event = reader.read_event().map_err(|error| problem(&error.to_string()))?;
        match event {
            Event::Start(start) => tree.open(&start).map_err(|what| problem(&what))?,
            Event::Empty(start) => {
                tree.open(&start).map_err(|what| problem(&what))?;
                tree.close();
            }
            Event::End(_) => tree.close(),
            Event::Text(text) => {
                tree.add_text(&text.xml10_content()).map_err(|what| problem(&what))?;
            }
            Event::CData(text) => {
                tree.add_text(&text.xml10_content()).map_err(|what| problem(&what))?;
            }
            Event::GeneralRef(entity) => {
                let text = resolved(&entity).map_err(|what| problem(&what))?;
                tree.add_text(&text).map_err(|what| problem(&what))?;
            }
            Event::Decl(declaration) if is_first => {
                check_declaration(&declaration).map_err(|what| problem(&what))?;
            }
            Event::Comment(_) => {}
            Event::Decl(_) => return Err(problem("An XML declaration comes first or not at all")),
            Event::PI(_) => return Err(problem("Processing instructions are not accepted")),
            Event::DocType(_) => return Err(problem("A document type is not accepted")),
            Event::Eof => return tree.finished(),
        }
        is_first = false;
    }
}

/// The elements so far.
#[derive(Default)]
struct Tree {
    /// The elements that are open, the innermost last.
    open: Vec<Element>,
    root: Option<Element>,
    elements: usize,
}

impl Tree {
    fn open(&mut self, start: &BytesStart<'_>) -> Result<(), String> {
        self.elements += 1;
        if self.elements > ELEMENTS_MAX {
            return Err(format!("There are more than {ELEMENTS_MAX} elements"));
        }
        if self.open.len() >= DEPTH_MAX {
            return Err(format!("There are more than {DEPTH_MAX} elements within each other"));
        }
        if self.open.is_empty() && self.root.is_some() {
            return Err("There is a second root element".to_owned());
        }
        let name = start.name().into_inner();
        if !name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':')) {
            return Err(format!("'{}' is not the name of an element", shown(name)));
        }
        let mut is_nil = false;
        for attribute in start.attributes() {
            let attribute = attribute.map_err(|error| error.to_string())?;
            let is_true = matches!(attribute.value.trim(), "true" | "1");
            is_nil |= attribute.key.local_name().into_inner() == "nil" && is_true;
        }
        let name = start.local_name().into_inner().to_owned();
        self.open.push(Element { name, is_nil, ..Element::default() });
        Ok(())
    }

    /// Ends the innermost element. The parser has checked its name.
    fn close(&mut self) {
        let Some(element) = self.open.pop() else { return };
        match self.open.last_mut() {
            Some(parent) => parent.children.push(element),
            None => self.root = Some(element),
        }
    }

    fn add_text(&mut self, text: &str) -> Result<(), String> {
        if let Some(wrong) = text.chars().find(|c| !is_allowed(*c)) {
            return Err(format!("The character U+{:04X} is not allowed", u32::from(wrong)));
        }
        match self.open.last_mut() {
            Some(element) => element.text.push_str(text),
            None if text.trim().is_empty() => {}
            None => return Err("There is text outside the root element".to_owned()),
        }
        Ok(())
    }

    fn finished(self) -> Result<Element, XmlError> {
        if let Some(open) = self.open.last() {
            return Err(XmlError(format!("The element '{}' has no end.", shown(&open.name))));
        }
        self.root.ok_or_else(|| XmlError("There is no element.".to_owned()))
    }
}

/// The text of a reference: one of the five names of XML, or a character by its number.
fn resolved(entity: &BytesRef<'_>) -> Result<String, String> {
    if let Some(c) = entity.resolve_char_ref().map_err(|error| error.to_string())? {
        return Ok(c.to_string());
    }
    let name = entity.xml10_content();
    resolve_predefined_entity(&name)
        .map(str::to_owned)
        .ok_or_else(|| format!("The entity '{}' is unknown; write '&' as '&amp;'", shown(&name)))
}

fn check_declaration(declaration: &BytesDecl<'_>) -> Result<(), String> {
    if declaration.xml_version().map_err(|error| error.to_string())? != XmlVersion::Explicit1_0 {
        return Err("The version of XML has to be 1.0".to_owned());
    }
    match declaration.encoding() {
        None => Ok(()),
        Some(Ok(name)) if name.eq_ignore_ascii_case("utf-8") => Ok(()),
        Some(Ok(_)) => Err("The encoding has to be UTF-8".to_owned()),
        Some(Err(error)) => Err(error.to_string()),
    }
}

/// Whether XML 1.0 has a character.
pub(super) const fn is_allowed(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

/// A name as messages quote it.
fn shown(name: &str) -> String {
    name.chars().take(NAME_CHARS_MAX).collect::<String>().escape_debug().to_string()
}

/// What the parser says, as one short line.
fn printable(what: &str) -> String {
    let shown = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    what.chars().take(PROBLEM_CHARS_MAX).map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(document: &str) -> String {
        read(document.as_bytes()).unwrap_err().0
    }

    #[test]
    fn names_match_in_any_case_whatever_their_prefix_and_namespace() {
        let document = "\u{feff}<?xml version='1.0' encoding=\"UTF-8\"?>\r\n<!-- a note -->\r\n\
                        <a:RESOURCE xmlns:a='urn:x' xmlns='urn:y'>\r\n  <intrinsicSettings>\r\n\
                        <plan>Standard</plan></intrinsicSettings>\n</a:RESOURCE>\n";
        let root = read(document.as_bytes()).unwrap().named("Resource").unwrap();
        root.has_only(&["IntrinsicSettings"]).unwrap();
        let settings = root.child("IntrinsicSettings").unwrap();
        assert_eq!(settings.text("Plan"), Ok(Some("Standard")));
        assert_eq!(settings.text("Quota"), Ok(None));
    }

    #[test]
    fn text_is_unescaped_once() {
        for (sent, text) in [
            ("a &amp; b", "a & b"),
            ("&lt;&gt;&quot;&apos;", "<>\"'"),
            ("&#65;&#x42;", "AB"),
            ("&amp;lt;", "&lt;"),
            ("<![CDATA[<x> & y]]>!", "<x> & y!"),
            (" kept ", " kept "),
            ("", ""),
            ("\u{e9}\u{1f600}", "\u{e9}\u{1f600}"),
        ] {
            let root = read(format!("<r><t>{sent}</t></r>").as_bytes()).unwrap();
            assert_eq!(root.text("T"), Ok(Some(text)), "{sent}");
        }
        let nil = "<r xmlns:i='http://www.w3.org/2001/XMLSchema-instance'><t i:nil='true'/></r>";
        assert_eq!(read(nil.as_bytes()).unwrap().text("t"), Ok(None));
    }

    #[test]
    fn what_is_not_well_formed_or_not_accepted_is_refused() {
        for (document, part) in [
            ("", "It is empty"),
            (" \n", "It is empty"),
            ("{}", "text outside"),
            ("<a>", "'a' has no end"),
            ("<a></b>", "b"),
            ("<a\u{1d}b></a>", "'a\\u{1d}b' is not the name of an element"),
            ("<a></a\u{1d}>", "`</a\u{fffd}>` was found"),
            ("<1<2/>", "'1<2' is not the name of an element"),
            ("<a/><b/>", "second root"),
            ("<a/>text", "text outside"),
            ("<a>1 & 2</a>", "reference not closed"),
            ("<a>&nbsp;</a>", "'nbsp' is unknown; write '&' as '&amp;'"),
            ("<a>&#0;</a>", ""),
            ("<a>&#1;</a>", "U+0001"),
            ("<a>\u{1}</a>", "U+0001"),
            ("<a>\u{fffe}</a>", "U+FFFE"),
            ("<a x='1' x='2'/>", "duplicated attribute"),
            ("<a/><?xml version='1.0'?>", "comes first"),
            ("<?xml version='1.1'?><a/>", "version of XML has to be 1.0"),
            ("<?xml version='1.0' encoding='utf-16'?><a/>", "encoding has to be UTF-8"),
            ("<?php 1 ?><a/>", "Processing instructions"),
            ("<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "document type"),
            ("<!-- only -->", "no element"),
        ] {
            assert!(message(document).contains(part), "{document}: {}", message(document));
        }
        assert!(read(&[0xff, 0xfe, b'<', 0]).unwrap_err().0.contains("not UTF-8 at byte 0"));
    }

    #[test]
    fn documents_are_bounded() {
        let nested = |n: usize| format!("{}{}", "<a>".repeat(n), "</a>".repeat(n));
        assert!(read(nested(DEPTH_MAX).as_bytes()).is_ok());
        assert!(message(&nested(DEPTH_MAX + 1)).contains("more than 16 elements within"));
        let long = message(&format!("<a></{}>", "b".repeat(60_000)));
        assert!(long.len() < 2 * PROBLEM_CHARS_MAX, "{long}");
        let wide = |n: usize| format!("<a>{}</a>", "<b/>".repeat(n - 1));
        assert!(read(wide(ELEMENTS_MAX).as_bytes()).is_ok());
        assert!(message(&wide(ELEMENTS_MAX + 1)).contains("more than 256 elements"));
    }

    #[test]
    fn what_is_unknown_or_twice_is_named() {
        let root = |inner: &str| read(format!("<Top>{inner}</Top>").as_bytes()).unwrap();
        let check = |inner: &str| root(inner).has_only(&["Plan", "Quota"]).map_err(|it| it.0);
        assert_eq!(check("<plan/><Quota/>"), Ok(()));
        assert_eq!(check("<Plam/>"), Err("'Top' has an unknown element, 'Plam'.".to_owned()));
        assert_eq!(check("<Plan/><plan/>"), Err("'Top' has 'plan' twice.".to_owned()));
        let text = "'Top' has text; it has to have elements only.".to_owned();
        assert_eq!(check("Free"), Err(text));
        let inner = root("<Plan><Name/></Plan>").text("Plan").unwrap_err().0;
        assert_eq!(inner, "'Plan' has elements; it has to have text only.");
        let other = root("").named("Resource").unwrap_err().0;
        assert_eq!(other, "The root element is 'Top'; it has to be 'Resource'.");
    }
}
