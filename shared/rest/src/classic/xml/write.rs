//! Writes compact documents: no declaration, no white space, `<Name/>` for an empty element.

use quick_xml::escape::partial_escape;

use super::read::is_allowed;

/// The namespaces of every answer, in the order in which Azure wrote them.
const NAMESPACES: &str = concat!(
    r#" xmlns="http://schemas.microsoft.com/windowsazure""#,
    r#" xmlns:i="http://www.w3.org/2001/XMLSchema-instance""#
);
/// Stands for a character that XML cannot contain. A name of a resource group may have one.
const REPLACEMENT: char = '\u{fffd}';

/// A document that is being written.
pub(in crate::classic) struct Xml(String);

impl Xml {
    /// A document with this element at the top.
    pub(in crate::classic) fn document(name: &str, content: impl FnOnce(&mut Self)) -> String {
        let mut xml = Self(String::new());
        xml.element_with(name, NAMESPACES, content);
        xml.0
    }

    /// Adds an element that contains others.
    pub(in crate::classic) fn element(&mut self, name: &str, content: impl FnOnce(&mut Self)) {
        self.element_with(name, "", content);
    }

    /// Adds an element that contains text.
    pub(in crate::classic) fn text(&mut self, name: &str, text: &str) {
        self.element(name, |xml| {
            let allowed: String =
                text.chars().map(|c| if is_allowed(c) { c } else { REPLACEMENT }).collect();
            xml.0.push_str(&partial_escape(allowed.as_str()));
        });
    }

    /// Adds markup as it is.
    pub(in crate::classic) fn raw(&mut self, markup: &'static str) {
        self.0.push_str(markup);
    }

    fn element_with(&mut self, name: &str, attributes: &str, content: impl FnOnce(&mut Self)) {
        self.0.extend(["<", name, attributes, ">"]);
        let start = self.0.len();
        content(self);
        if self.0.len() > start {
            self.0.extend(["</", name, ">"]);
        } else {
            self.0.truncate(start - 1);
            self.0.push_str("/>");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;

    #[test]
    fn documents_are_compact_and_can_be_read_again() {
        let text = "a < b & \"c\"\r\n\u{1}\u{fffe}";
        let document = Xml::document("Top", |xml| {
            xml.element("Empty", |_| {});
            xml.text("Label", text);
            xml.text("None", "");
        });
        let expected = concat!(
            r#"<Top xmlns="http://schemas.microsoft.com/windowsazure" "#,
            r#"xmlns:i="http://www.w3.org/2001/XMLSchema-instance"><Empty/>"#,
            "<Label>a &lt; b &amp; \"c\"&#13;\n\u{fffd}\u{fffd}</Label><None/></Top>"
        );
        assert_eq!(document, expected);
        let read = read(document.as_bytes()).unwrap();
        assert_eq!(read.text("Label"), Ok(Some("a < b & \"c\"\r\n\u{fffd}\u{fffd}")));
    }
}
