//! Escape sequences: what programming languages, URLs and HTML write for one character.

/// The longest name of an HTML entity, with `&` and `;`.
const ENTITY_BYTES_MAX: usize = 34;

/// What a text begins with.
pub(super) enum Step {
    /// A byte that stands for itself.
    Literal,
    /// An escape sequence of this many bytes.
    Escape {
        /// How many bytes it has.
        length: usize,
        /// What it stands for.
        decoded: Decoded,
    },
    /// The beginning of an escape sequence, and nothing after it.
    Incomplete,
}

/// What an escape sequence stands for.
pub(super) struct Decoded {
    buffer: [u8; 8],
    length: usize,
}

impl Decoded {
    /// The bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        self.buffer.get(..self.length).unwrap_or_default()
    }

    fn byte(byte: u8) -> Self {
        Self { buffer: [byte, 0, 0, 0, 0, 0, 0, 0], length: 1 }
    }

    /// A short text; `None` if it is longer than any entity's.
    fn text(text: &str) -> Option<Self> {
        let mut buffer = [0; 8];
        buffer.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        Some(Self { buffer, length: text.len() })
    }
}

impl From<char> for Decoded {
    fn from(c: char) -> Self {
        let mut buffer = [0; 8];
        let length = c.encode_utf8(&mut buffer).len();
        Self { buffer, length }
    }
}

/// What `\xe4` and `%e4` stand for. It depends on the language, and in Python on the type.
#[derive(Clone, Copy)]
pub(super) enum High {
    /// A byte, as in C, in the bytes of Python, and in URLs.
    Byte,
    /// A character, as in JavaScript, in the texts of Python, and in URLs of old JavaScript.
    Char,
}

/// An escape sequence of JSON or of a programming language. An octal number that ends with the text
/// may have lost digits if the text is cut.
pub(super) fn backslash(text: &[u8], high: High, is_cut: bool) -> Step {
    let Some((b'\\', rest)) = text.split_first() else {
        return Step::Literal;
    };
    let Some((kind, digits)) = rest.split_first() else {
        return Step::Incomplete;
    };
    let control = |byte| Step::Escape { length: 2, decoded: Decoded::byte(byte) };
    match kind {
        b'u' | b'x' if digits.first() == Some(&b'{') => braced(digits),
        b'u' => utf16(text, *b"\\u"),
        b'U' => number(digits, 8, 16).map_char(2),
        b'x' => number(digits, 2, 16).map_high(2, high),
        b'0'..=b'7' => {
            let length = rest.iter().take(3).take_while(|c| matches!(c, b'0'..=b'7')).count();
            if is_cut && length < 3 && length == rest.len() {
                return Step::Incomplete;
            }
            number(rest, length, 8).map_high(1, high)
        }
        b'n' => control(b'\n'),
        b't' => control(b'\t'),
        b'r' => control(b'\r'),
        b'b' => control(8),
        b'f' => control(12),
        b'v' => control(11),
        b'a' => control(7),
        b'e' => control(27),
        kind if kind.is_ascii() => control(*kind),
        _ => Step::Literal,
    }
}

/// An escape sequence of URLs: `%2b`, and `%u20ac` of old JavaScript.
pub(super) fn percent(text: &[u8], high: High) -> Step {
    match text {
        [b'%', b'u', ..] => utf16(text, *b"%u"),
        [b'%', digits @ ..] => number(digits, 2, 16).map_high(1, high),
        _ => Step::Literal,
    }
}

/// The same in forms, where a `+` is a space.
pub(super) fn form(text: &[u8]) -> Step {
    match text {
        [b'+', ..] => Step::Escape { length: 1, decoded: Decoded::byte(b' ') },
        _ => percent(text, High::Byte),
    }
}

/// An entity of HTML or XML.
pub(super) fn entity(text: &[u8]) -> Step {
    if text.first() != Some(&b'&') {
        return Step::Literal;
    }
    let name = text.iter().skip(1).take(ENTITY_BYTES_MAX);
    let length = 1 + name.take_while(|c| c.is_ascii_alphanumeric() || **c == b'#').count();
    match text.get(length) {
        None => Step::Incomplete,
        Some(b';') => {
            let entity = text.get(..=length).and_then(|entity| std::str::from_utf8(entity).ok());
            let decoded = entity.map(|entity| (entity, html_escape::decode_html_entities(entity)));
            match decoded.filter(|(entity, decoded)| entity != decoded) {
                Some((_, decoded)) => Decoded::text(&decoded)
                    .map_or(Step::Literal, |decoded| Step::Escape { length: length + 1, decoded }),
                None => Step::Literal,
            }
        }
        Some(_) => Step::Literal,
    }
}

/// A number in an escape sequence.
enum Number {
    /// Its value, and its number of digits.
    Value(u32, usize),
    /// Something else.
    None,
    /// The text ends before the last digit.
    Incomplete,
}

impl Number {
    /// The escape sequence of a character, with as many bytes before the digits.
    fn map_char(self, before: usize) -> Step {
        match self {
            Self::Value(value, length) => char::from_u32(value).map_or(Step::Literal, |c| {
                Step::Escape { length: before + length, decoded: c.into() }
            }),
            Self::None => Step::Literal,
            Self::Incomplete => Step::Incomplete,
        }
    }

    /// The escape sequence of a byte or a character.
    fn map_high(self, before: usize, high: High) -> Step {
        match (self, high) {
            (Self::Value(value, length), High::Byte) => {
                u8::try_from(value).map_or(Step::Literal, |byte| Step::Escape {
                    length: before + length,
                    decoded: Decoded::byte(byte),
                })
            }
            (number, _) => number.map_char(before),
        }
    }
}

/// A number of exactly so many digits.
fn number(text: &[u8], n_digits: usize, radix: u32) -> Number {
    let digits = text.get(..n_digits).unwrap_or(text);
    let mut value = 0_u32;
    for digit in digits {
        let Some(digit) = char::from(*digit).to_digit(radix) else {
            return Number::None;
        };
        value = value.wrapping_mul(radix) | digit;
    }
    if digits.len() < n_digits { Number::Incomplete } else { Number::Value(value, n_digits) }
}

/// `\u{1f511}` and `\x{e4}`, from the brace on.
fn braced(text: &[u8]) -> Step {
    let digits = text.iter().skip(1).take(6).take_while(|c| c.is_ascii_hexdigit()).count();
    match (digits, text.get(1 + digits)) {
        (_, None) => Step::Incomplete,
        (1.., Some(b'}')) => match number(text.get(1..).unwrap_or_default(), digits, 16) {
            Number::Value(value, length) => Number::Value(value, length + 1).map_char(3),
            Number::None | Number::Incomplete => Step::Literal,
        },
        _ => Step::Literal,
    }
}

/// One or two units of UTF-16, four digits each.
fn utf16(text: &[u8], marker: [u8; 2]) -> Step {
    let unit = |text: &[u8]| match text.strip_prefix(&marker) {
        Some(digits) => number(digits, 4, 16),
        None if marker.starts_with(text) => Number::Incomplete,
        None => Number::None,
    };
    let first = match unit(text) {
        Number::Value(value, _) => value,
        other => return other.map_char(2),
    };
    let high = match first {
        0xd800..0xdc00 => first - 0xd800,
        _ => return lone(first),
    };
    match unit(text.get(6..).unwrap_or_default()) {
        Number::Value(low @ 0xdc00..0xe000, _) => {
            let value = 0x1_0000 + (high << 10) + (low - 0xdc00);
            Number::Value(value, 10).map_char(2)
        }
        Number::Incomplete => Step::Incomplete,
        Number::Value(..) | Number::None => lone(first),
    }
}

/// One unit of UTF-16, which may be half of a pair.
fn lone(unit: u32) -> Step {
    let c = char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER);
    Step::Escape { length: 6, decoded: c.into() }
}
