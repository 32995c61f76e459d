//! Encoders as the standard libraries of other languages have them.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

/// An encoder of a language, by the name of its function.
pub(super) type Encoder = (&'static str, fn(&str) -> String);

/// Encoders that write one character after the other, whatever stands around it.
pub(super) const ESCAPES: [Encoder; 24] = [
    ("as it is", str::to_owned),
    ("JSON of most libraries", plain_json),
    ("Go: json.Marshal", go_json),
    (".NET: System.Text.Json", system_text_json),
    ("Python: json.dumps", python_json),
    ("PHP: json_encode", php_json),
    ("Java: Gson", gson),
    ("JavaScript: encodeURIComponent", |text| percent(text, "-_.!~*'()", "%20", true)),
    ("Python: urllib.parse.quote", |text| percent(text, "-_.~/", "%20", true)),
    ("Python: urllib.parse.quote_plus", |text| percent(text, "-_.~", "+", true)),
    ("PHP: urlencode", |text| percent(text, "-_.", "+", true)),
    ("PHP: rawurlencode", |text| percent(text, "-_.~", "%20", true)),
    ("Java: URLEncoder.encode", |text| percent(text, "-_.*", "+", true)),
    (".NET: HttpUtility.UrlEncode", |text| percent(text, "-_.!*()", "+", false)),
    ("JavaScript: escape", javascript_escape),
    ("Python: html.escape", |text| html(text, "&quot;", "&#x27;")),
    ("Go: html.EscapeString", |text| html(text, "&#34;", "&#39;")),
    (".NET: WebUtility.HtmlEncode", dotnet_html),
    ("PHP: htmlentities", php_html),
    ("XML with hexadecimal references", |text| each(text, |c| format!("&#x{:X};", u32::from(c)))),
    ("Python: repr of bytes", python_bytes),
    ("Python: ascii", python_ascii),
    ("C with octal escapes", |text| bytes(text, |byte| format!("\\{byte:03o}"))),
    ("Rust: escape_unicode", |text| text.escape_unicode().to_string()),
];

/// Encoders of a text as a whole.
pub(super) const WHOLES: [Encoder; 8] = [
    ("Base64", |text| STANDARD.encode(text)),
    ("Base64 for URLs", |text| URL_SAFE_NO_PAD.encode(text)),
    ("Base64 in lines, as in e-mails", base64_in_lines),
    ("PowerShell: Base64 of UTF-16", |text| STANDARD.encode(utf16(text, u16::to_le_bytes))),
    ("hexadecimal", |text| bytes(text, |byte| format!("{byte:02x}"))),
    ("hexadecimal with colons", |text| {
        bytes(text, |byte| format!("{byte:02X}:")).trim_end_matches(':').to_owned()
    }),
    ("hexadecimal in a C array", |text| {
        bytes(text, |byte| format!("0x{byte:02x}, ")).trim_end_matches(", ").to_owned()
    }),
    ("hexadecimal of UTF-16", |text| {
        utf16(text, u16::to_be_bytes).iter().fold(String::new(), |mut written, byte| {
            write!(written, "{byte:02x}").unwrap();
            written
        })
    }),
];

/// A text in UTF-16.
pub(super) fn utf16(text: &str, order: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(order).collect()
}

fn each(text: &str, written: impl Fn(char) -> String) -> String {
    text.chars().map(written).collect()
}

fn bytes(text: &str, written: impl Fn(u8) -> String) -> String {
    text.bytes().map(written).collect()
}

fn units(c: char, is_upper: bool) -> String {
    c.encode_utf16(&mut [0; 2]).iter().fold(String::new(), |mut written, unit| {
        let unit = format!("{unit:04x}");
        let unit = if is_upper { unit.to_uppercase() } else { unit };
        write!(written, "\\u{unit}").unwrap();
        written
    })
}

fn plain_json(text: &str) -> String {
    let json = serde_json::to_string(text).unwrap();
    json[1..json.len() - 1].to_owned()
}

fn go_json(text: &str) -> String {
    each(text, |c| match c {
        '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => units(c, false),
        c => plain_json(c.encode_utf8(&mut [0; 4])),
    })
}

fn system_text_json(text: &str) -> String {
    each(text, |c| match c {
        '\\' => "\\\\".to_owned(),
        '"' | '\'' | '&' | '<' | '>' | '+' | '`' => units(c, true),
        c if c.is_ascii_graphic() || c == ' ' => c.to_string(),
        c => units(c, true),
    })
}

fn python_json(text: &str) -> String {
    each(text, |c| match c {
        c if c.is_ascii() => plain_json(c.encode_utf8(&mut [0; 4])),
        c => units(c, false),
    })
}

fn php_json(text: &str) -> String {
    python_json(text).replace('/', "\\/")
}

fn gson(text: &str) -> String {
    each(text, |c| match c {
        '<' | '>' | '&' | '=' | '\'' => units(c, false),
        c => plain_json(c.encode_utf8(&mut [0; 4])),
    })
}

fn percent(text: &str, kept: &str, space: &str, is_upper: bool) -> String {
    bytes(text, |byte| match char::from(byte) {
        c if c.is_ascii_alphanumeric() || kept.contains(c) => c.to_string(),
        ' ' => space.to_owned(),
        _ if is_upper => format!("%{byte:02X}"),
        _ => format!("%{byte:02x}"),
    })
}

fn javascript_escape(text: &str) -> String {
    each(text, |c| match c {
        c if c.is_ascii_alphanumeric() || "@*_+-./".contains(c) => c.to_string(),
        '\0'..='\u{ff}' => format!("%{:02X}", u32::from(c)),
        c => units(c, true).replace('\\', "%"),
    })
}

fn html(text: &str, quote: &str, apostrophe: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', quote).replace('\'', apostrophe)
}

fn dotnet_html(text: &str) -> String {
    each(text, |c| match c {
        '\u{a0}'..='\u{ff}' | '\u{1_0000}'.. => format!("&#{};", u32::from(c)),
        c => html(c.encode_utf8(&mut [0; 4]), "&quot;", "&#39;"),
    })
}

fn php_html(text: &str) -> String {
    each(text, |c| match c {
        'ä' => "&auml;".to_owned(),
        'é' => "&eacute;".to_owned(),
        'ß' => "&szlig;".to_owned(),
        '€' => "&euro;".to_owned(),
        c => html(c.encode_utf8(&mut [0; 4]), "&quot;", "&#039;"),
    })
}

fn python_bytes(text: &str) -> String {
    bytes(text, |byte| match char::from(byte) {
        '\\' => "\\\\".to_owned(),
        '\'' => "\\'".to_owned(),
        c if c.is_ascii_graphic() || c == ' ' => c.to_string(),
        _ => format!("\\x{byte:02x}"),
    })
}

fn python_ascii(text: &str) -> String {
    each(text, |c| match c {
        '\\' => "\\\\".to_owned(),
        '\'' => "\\'".to_owned(),
        c if c.is_ascii_graphic() || c == ' ' => c.to_string(),
        '\0'..='\u{ff}' => format!("\\x{:02x}", u32::from(c)),
        '\0'..='\u{ffff}' => units(c, false),
        c => format!("\\U{:08x}", u32::from(c)),
    })
}

fn base64_in_lines(text: &str) -> String {
    let line = STANDARD.encode(text);
    let lines = line.as_bytes().chunks(20).map(|line| std::str::from_utf8(line).unwrap());
    lines.collect::<Vec<_>>().join("\r\n")
}
