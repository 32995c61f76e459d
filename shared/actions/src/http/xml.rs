//! Error messages of services in XML: flat documents with few elements.

/// The text of the first element with a name.
pub(crate) fn element_text(document: &str, name: &str) -> Option<String> {
    let (_, rest) = document.split_once(&format!("<{name}>"))?;
    let (text, _) = rest.split_once(&format!("</{name}>"))?;
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    // The ampersand is last, so that nothing is decoded twice.
    Some(text.replace("&apos;", "'").replace("&amp;", "&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_an_element_is_decoded() {
        let document = "\u{feff}<?xml version=\"1.0\"?><Error><Code>A</Code><Detail>a &lt;b&gt; \
                        &amp;lt; &quot;c&quot;</Detail></Error>";
        assert_eq!(element_text(document, "Code").as_deref(), Some("A"));
        assert_eq!(element_text(document, "Detail").as_deref(), Some("a <b> &lt; \"c\""));
        assert_eq!(element_text(document, "Message"), None);
        assert_eq!(element_text("<Code>cut", "Code"), None);
    }
}
