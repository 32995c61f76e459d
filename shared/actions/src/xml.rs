//! What services say of a failure in XML: flat documents of few elements.

/// The text of the first element of a name.
pub(crate) fn element(document: &str, name: &str) -> Option<String> {
    let (_, rest) = document.split_once(&format!("<{name}>"))?;
    let (text, _) = rest.split_once(&format!("</{name}>"))?;
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    // Last, so that nothing is decoded twice.
    Some(text.replace("&apos;", "'").replace("&amp;", "&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_is_found_and_read() {
        let document = "\u{feff}<?xml version=\"1.0\"?><Error><Code>A</Code><Detail>a &lt;b&gt; \
                        &amp;lt; &quot;c&quot;</Detail></Error>";
        assert_eq!(element(document, "Code").as_deref(), Some("A"));
        assert_eq!(element(document, "Detail").as_deref(), Some("a <b> &lt; \"c\""));
        assert_eq!(element(document, "Message"), None);
        assert_eq!(element("<Code>cut", "Code"), None);
    }
}
