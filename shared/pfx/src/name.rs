//! Writes a distinguished name in the form of .NET.
//!
//! Azure Scheduler returned .NET's `X509Certificate2.Subject`, and clients compare it. The last part
//! of the encoding comes first. Parts are separated by `, ` and the values of one part by ` + `. A
//! value with special characters is in quotes, and quotes in it are doubled. RFC 4514 is different: it
//! escapes with backslashes and calls a state `ST`.

use std::fmt::Write as _;

use der::asn1::ObjectIdentifier;
use der::{Any, Encode, Tag, Tagged};
use x509_cert::attr::AttributeTypeAndValue;
use x509_cert::name::Name;

/// Characters for which Windows puts a value in quotes.
const SPECIAL: [char; 9] = [',', '+', '=', '"', '\n', '<', '>', '#', ';'];

/// White space for which Windows puts a value in quotes if it is first or last.
const SPACE: [char; 6] = [' ', '\t', '\n', '\u{b}', '\u{c}', '\r'];

/// Writes a name as .NET does.
pub(crate) fn format_like_dotnet(name: &Name) -> String {
    let mut parts: Vec<String> = name
        .iter_rdn()
        .map(|part| part.iter().map(attribute).collect::<Vec<_>>().join(" + "))
        .collect();
    parts.reverse();
    parts.join(", ")
}

fn attribute(attribute: &AttributeTypeAndValue) -> String {
    let value = text(&attribute.value);
    let quoted = value.is_empty()
        || value.starts_with(SPACE)
        || value.ends_with(SPACE)
        || value.contains(SPECIAL);
    let key = key(&attribute.oid);
    if quoted {
        format!("{key}=\"{}\"", value.replace('"', "\"\""))
    } else {
        format!("{key}={value}")
    }
}

/// Returns the key of an attribute type, as Windows writes it.
fn key(oid: &ObjectIdentifier) -> String {
    let dotted = oid.to_string();
    let known = match dotted.as_str() {
        "2.5.4.3" => "CN",
        "2.5.4.4" => "SN",
        "2.5.4.5" => "SERIALNUMBER",
        "2.5.4.6" => "C",
        "2.5.4.7" => "L",
        "2.5.4.8" => "S",
        "2.5.4.9" => "STREET",
        "2.5.4.10" => "O",
        "2.5.4.11" => "OU",
        "2.5.4.12" => "T",
        "2.5.4.13" => "Description",
        "2.5.4.17" => "PostalCode",
        "2.5.4.18" => "POBox",
        "2.5.4.20" => "Phone",
        "2.5.4.42" => "G",
        "2.5.4.43" => "I",
        "2.5.4.46" => "dnQualifier",
        "1.2.840.113549.1.9.1" => "E",
        "0.9.2342.19200300.100.1.25" => "DC",
        _ => return format!("OID.{dotted}"),
    };
    known.to_owned()
}

/// Returns the text of a value; a value that is not text is written as its encoding in hexadecimal.
fn text(value: &Any) -> String {
    let bytes = value.value();
    match value.tag() {
        Tag::Utf8String
        | Tag::PrintableString
        | Tag::Ia5String
        | Tag::NumericString
        | Tag::VisibleString => String::from_utf8_lossy(bytes).into_owned(),
        // The standard says T.61, but programs write Latin-1.
        Tag::TeletexString => bytes.iter().copied().map(char::from).collect(),
        Tag::BmpString => {
            let units = bytes.chunks_exact(2).map(|pair| match pair {
                &[high, low] => u16::from_be_bytes([high, low]),
                _ => 0,
            });
            char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
        }
        _ => format!("#{}", hex(&value.to_der().unwrap_or_default())),
    }
}

/// Returns bytes in upper-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut hex = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a `String` cannot fail.
        let _ = write!(hex, "{byte:02X}");
    }
    hex
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_decoded_in_each_encoding() {
        for (tag, bytes, expected) in [
            (Tag::Utf8String, "Zoë".as_bytes(), "Zoë"),
            (Tag::PrintableString, b"Zoe", "Zoe"),
            (Tag::Ia5String, b"zoe@example.net", "zoe@example.net"),
            (Tag::TeletexString, b"Zo\xeb", "Zoë"),
            (Tag::BmpString, b"\0Z\0o\0\xeb", "Zoë"),
            (Tag::BmpString, b"\xd8\x3d\xdd\x11\xd8\x3d", "🔑\u{fffd}"),
            (Tag::Integer, b"\x2a", "#02012A"),
        ] {
            assert_eq!(text(&Any::new(tag, bytes).unwrap()), expected, "{tag}");
        }
    }

    #[test]
    fn a_value_with_special_characters_is_in_quotes() {
        for (value, expected) in [
            ("plain text", "CN=plain text"),
            ("", r#"CN="""#),
            ("a\rb", "CN=a\rb"),
            ("a\nb", "CN=\"a\nb\""),
            ("\ta", "CN=\"\ta\""),
            ("a;b", r#"CN="a;b""#),
            ("a#b", r#"CN="a#b""#),
            (r#"say "hi""#, r#"CN="say ""hi""""#),
            (r"a\b", r"CN=a\b"),
        ] {
            let oid = ObjectIdentifier::new_unwrap("2.5.4.3");
            let value = Any::new(Tag::Utf8String, value.as_bytes()).unwrap();
            assert_eq!(attribute(&AttributeTypeAndValue { oid, value }), expected);
        }
    }

    #[test]
    fn an_empty_name_gives_an_empty_text() {
        assert_eq!(format_like_dotnet(&Name::default()), "");
    }
}
