//! Secrets that targets return, in the encodings of many languages.

mod encoders;

use std::time::{SystemTime, UNIX_EPOCH};

use super::*;
use encoders::{ESCAPES, Encoder, WHOLES, utf16};

fn secrets(all: &[&str]) -> Secrets {
    let mut secrets = Secrets::default();
    for secret in all {
        secrets.add(secret);
    }
    secrets
}

#[test]
fn secrets_are_replaced_in_every_encoding() {
    let secrets = secrets(&["päss \"wörd\"/-1", "päss"]);
    for (text, expected) in [
        ("nothing", "nothing"),
        ("a päss \"wörd\"/-1 b", "a [redacted] b"),
        (r#"{"p":"päss \"wörd\"/-1"}"#, r#"{"p":"[redacted]"}"#),
        (r#"{"p":"p\u00e4ss \"w\u00f6rd\"/-1"}"#, r#"{"p":"[redacted]"}"#),
        ("p=p%C3%A4ss%20%22w%C3%B6rd%22%2F-1&q", "p=[redacted]&q"),
        ("p=p%C3%A4ss+%22w%C3%B6rd%22%2F-1&q", "p=[redacted]&q"),
        ("p=p%c3%a4ss%20%22w%c3%b6rd%22%2f-1&q", "p=[redacted]&q"),
        (r#"{"p":"päss \"wörd\"\/-1"}"#, r#"{"p":"[redacted]"}"#),
        ("<p>päss &quot;wörd&quot;/-1</p>", "<p>[redacted]</p>"),
        ("pässion", "[redacted]ion"),
    ] {
        assert_eq!(secrets.redact(text), expected);
    }
}

#[test]
fn short_secrets_are_replaced_as_whole_words() {
    let secrets = secrets(&["pw"]);
    assert_eq!(
        secrets.redact("pw upward pwpw \"pw\":pw1"),
        "[redacted] upward pwpw \"[redacted]\":pw1"
    );
}

#[test]
fn basic_credentials_are_replaced_encoded_and_decoded() {
    let mut secrets = Secrets::default();
    assert_eq!(secrets.add_basic("Aladdin", "open sesame"), "QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    assert_eq!(
        secrets.redact("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ== Aladdin:open sesame"),
        "Basic [redacted] Aladdin:[redacted]"
    );
}

#[test]
fn the_signature_of_a_query_is_replaced_as_it_was_sent_and_decoded() {
    let mut secrets = Secrets::default();
    secrets.add_query("sv=2021-06-08&se=2027-01-01&SIG=ab%2Bcd%2Fef%3D&sp=a");
    for (text, expected) in [
        ("?sv=2021-06-08&se=2027-01-01&SIG=ab%2Bcd%2Fef%3D&sp=a", "?[redacted]"),
        ("sig ab%2Bcd%2Fef%3D", "sig [redacted]"),
        // A server that parses the query answers with this.
        ("<Signature>ab+cd/ef=</Signature>", "<Signature>[redacted]</Signature>"),
        ("expired at 2027-01-01", "expired at 2027-01-01"),
    ] {
        assert_eq!(secrets.redact_answer(text.as_bytes(), false), expected);
    }
}

#[test]
fn the_secrets_within_a_header_are_replaced() {
    let mut secrets = Secrets::default();
    for (name, value) in [
        ("authorization", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
        ("cookie", "a=1; session=\"abcdef\"; t=tok=en"),
        ("x-api-key", "k-123456"),
    ] {
        let name = HeaderName::from_static(name);
        secrets.add_header(&name, &HeaderValue::from_static(value));
    }
    assert_eq!(
        secrets
            .redact("Aladdin, open sesame: 1 abcdef tok=en k-123456 QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
        "Aladdin, [redacted]: 1 [redacted] [redacted] [redacted] [redacted]"
    );
}

#[test]
fn the_beginning_of_a_secret_at_a_cut_is_replaced() {
    let secrets = secrets(&["sésame-sesame"]);
    assert_eq!(secrets.redact_answer("x sésame-ses".as_bytes(), true), "x [redacted]");
    assert_eq!(secrets.redact_answer("x sé".as_bytes(), true), "x [redacted]");
    assert_eq!(secrets.redact_answer(b"x", true), "x");
}

#[test]
fn an_empty_secret_replaces_nothing() {
    assert_eq!(secrets(&[""]).redact("abc"), "abc");
}

/// The number of secrets that a property is tried with.
const ROUNDS: usize = 300;

/// Pseudo-random numbers from a seed, which is printed.
struct Chance(u64);

impl Chance {
    #[expect(clippy::disallowed_methods, reason = "a seed is not a time of the product")]
    fn new() -> Self {
        let seed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros();
        println!("seed {seed}");
        Self(u64::try_from(seed).unwrap() | 1)
    }

    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap() % end
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// A secret with the characters that encoders treat in different ways.
    fn secret(&mut self) -> String {
        let odd: Vec<char> = r#"&<>"'/\+ %=~!*();:@$,?#[]{}|^`.-_äéß€語🔑"#.chars().collect();
        let n_chars = 6 + self.below(19);
        let any = (0..n_chars).map(|_| match self.below(2) {
            0 => char::from(b'a' + u8::try_from(self.below(26)).unwrap()),
            _ => self.pick(&odd),
        });
        // It begins and ends with letters, so that what stands around it does not extend it.
        format!("q{}z", any.collect::<String>())
    }
}

/// Texts that stand around a secret.
const AROUND: [(&str, &str); 4] =
    [("{\"p\":\"", "\"}"), ("?p=", "&x=1"), ("<p>", "</p>"), ("The password ", " is wrong.")];

#[test]
fn secrets_are_found_whatever_escapes_them() {
    let mut chance = Chance::new();
    for _ in 0..ROUNDS {
        let secret = chance.secret();
        let secrets = secrets(&[&secret]);
        for (name, encode) in ESCAPES {
            let (before, after) = chance.pick(&AROUND);
            let text = format!("{before}{}{after}", encode(&secret));
            let expected = format!("{before}[redacted]{after}");
            assert_eq!(secrets.redact(&text), expected, "{name} of {secret:?}: {text}");
        }
    }
}

#[test]
fn secrets_are_found_in_what_is_encoded_twice() {
    let mut chance = Chance::new();
    for _ in 0..ROUNDS {
        let secret = chance.secret();
        let secrets = secrets(&[&secret]);
        let (inner_name, inner): Encoder = chance.pick(&ESCAPES);
        for (name, encode) in ESCAPES {
            let (before, after) = chance.pick(&AROUND);
            let text = format!("{}{}{}", encode(before), encode(&inner(&secret)), encode(after));
            let expected = format!("{}[redacted]{}", encode(before), encode(after));
            let redacted = secrets.redact(&text);
            assert_eq!(redacted, expected, "{name} of {inner_name} of {secret:?}: {text}");
        }
    }
}

#[test]
fn secrets_are_found_in_binary_encodings() {
    let mut chance = Chance::new();
    for _ in 0..ROUNDS {
        let secret = chance.secret();
        let secrets = secrets(&[&secret]);
        for (name, encode) in WHOLES {
            let (outer_name, outer) = chance.pick(&ESCAPES);
            let (before, after) = chance.pick(&AROUND);
            let encoded = outer(&encode(&secret));
            let redacted = secrets.redact(&format!("{before}{encoded}{after}"));
            let rest = redacted.strip_prefix(before).unwrap().strip_suffix(after).unwrap();
            // The padding remains, and the prefix of the first number.
            let rest: String = ["=", "%3D", "%3d", "\\u003d", "\\075", "\\u{3d}", "&#x3D;"]
                .iter()
                .fold(rest.to_owned(), |rest, padding| rest.replace(padding, ""));
            let prefix = rest.find("[redacted]").unwrap();
            assert!(
                rest[prefix..] == *"[redacted]" && prefix <= outer("0x").len(),
                "{outer_name} of {name} of {secret:?}: {encoded} became {rest}"
            );
        }
    }
}

#[test]
fn secrets_are_found_within_base64_wherever_they_begin() {
    let mut chance = Chance::new();
    for _ in 0..ROUNDS {
        let secret = chance.secret();
        let secrets = secrets(&[&secret]);
        let user = &"administrators"[..chance.below(14)];
        let encoded = STANDARD.encode(format!("{user}:{secret}"));
        let before = &"session-"[chance.below(8)..];
        let redacted = secrets.redact(&format!("\"{before}{encoded}\""));
        // A digit has six bits, and may belong to two bytes.
        let kept = (user.len() + 1) * 8 / 6;
        let expected = format!("\"{before}{}[redacted]\"", &encoded[..kept]);
        assert_eq!(redacted.replace('=', ""), expected, "{secret:?} in {encoded}");
    }
}

#[test]
fn secrets_are_found_in_utf_16() {
    let mut chance = Chance::new();
    for _ in 0..ROUNDS {
        let secret = chance.secret();
        let secrets = secrets(&[&secret]);
        let (name, encode) = chance.pick(&ESCAPES);
        for order in [u16::to_le_bytes, u16::to_be_bytes] {
            let answer = utf16(&format!("\u{feff}{{\"p\":\"{}\"}}", encode(&secret)), order);
            let redacted = secrets.redact_answer(&answer, false);
            let rest = redacted.replace(['\0', '\u{fffd}', '{', '}', '"', 'p', ':'], "");
            assert_eq!(rest, "[redacted]", "{name} of {secret:?}");
        }
    }
}

/// A kept body is not decoded. Read a byte later, one order is the other one, but for its last byte.
#[test]
fn in_a_kept_body_secrets_are_found_in_both_orders_of_utf_16() {
    for secret in ["s3cr3t-t0ken", "s3cr3t-\u{43a}\u{43b}\u{44e}\u{447}"] {
        let secrets = secrets(&[secret]);
        for order in [u16::to_le_bytes, u16::to_be_bytes] {
            let kept = secrets.redact_plain(&utf16(&format!("p={secret}"), order));
            // Half of the character before may go with the secret.
            let kept: Vec<u8> = kept.into_iter().filter(|byte| *byte != 0).collect();
            assert_eq!(String::from_utf8_lossy(&kept), "p=[redacted]", "{secret}");
        }
    }
}

#[test]
fn no_part_of_a_secret_is_left_at_a_cut() {
    let mut chance = Chance::new();
    for _ in 0..ROUNDS {
        let secret = chance.secret();
        let secrets = secrets(&[&secret]);
        for (name, encode) in ESCAPES {
            let encoded = encode(&secret);
            let length = 1 + chance.below(encoded.len());
            let answer = [b"p=", &encoded.as_bytes()[..length]].concat();
            let redacted = secrets.redact_answer(&answer, true);
            // The first character may be cut off within its escape sequence.
            let is_begun = length >= encode("q").len();
            let expected = if is_begun { "p=[redacted]" } else { "p=" };
            assert!(redacted.starts_with(expected), "{name} of {secret:?} at {length}: {redacted}");
            assert!(
                !is_begun || redacted == expected,
                "{name} of {secret:?} at {length}: {redacted}"
            );
        }
    }
}

#[test]
fn other_texts_stay_as_they_are() {
    let secrets = secrets(&["hunter2-hunter2", "pw"]);
    for text in [
        r#"{"a":"\u00e4\n","b":"%20+&amp;","c":"QUJDREVGRw==","d":"70:61:73"}"#,
        "upward \\ % & &amp &nosuch; %u12 \\u12 \\x \\u{} \\ud83d \\udd11",
        "hunter2-hunter1 hunter2 68756e746572",
    ] {
        assert_eq!(secrets.redact(text), text);
        assert_eq!(secrets.redact_answer(text.as_bytes(), false), text);
    }
}

#[test]
fn short_secrets_are_found_in_base64_as_a_whole() {
    let secrets = secrets(&["abc"]);
    for (text, expected) in [
        ("p=YWJj", "p=[redacted]"),
        ("Basic dTphYmM=", "Basic dT[redacted]="),
        ("p=YWJjZA==", "p=YWJjZA=="),
    ] {
        assert_eq!(secrets.redact(text), expected);
    }
}

#[test]
fn hosts_are_compared_as_urls_write_them() {
    let secrets = secrets(&["CanaryHost", "schlüssel"]);
    assert_eq!(
        secrets.redact("Request to host 'canaryhost.test' or 'xn--schlssel-95a.test'"),
        "Request to host '[redacted].test' or '[redacted].test'"
    );
    assert_eq!(secrets.redact_answer(b"canaryhost", false), "canaryhost");
}

#[test]
fn a_text_that_is_made_of_escapes_is_withheld() {
    let secrets = secrets(&["hunter22"]);
    let layers = r"%5C&#x5c;\x25%2526+\u0026amp%3BJTVD\0".repeat(400);
    assert_eq!(secrets.redact_answer(layers.as_bytes(), false), "[redacted]");
    assert_eq!(Secrets::default().redact("%5C"), "%5C");
}
