//! Tokens: what each of them opens, and the words in which files and settings say so.

use std::sync::Arc;

use minutehand_domain::ids;
use minutehand_domain::reach::Reach;

use crate::scope::Scope;

/// How many bytes of a token's hash name it.
const NAME_BYTES: usize = 4;
/// The most characters of a token's label.
const LABEL_CHARS_MAX: usize = 100;

/// A token that gives access, known by its hash only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// The SHA-256 of the token.
    pub hash: [u8; 32],
    /// What its callers may do.
    pub scope: Scope,
    /// The collections that its callers may reach.
    pub reach: Reach,
    /// What its owner calls it.
    pub label: Option<Arc<str>>,
}

/// Why words do not describe a token. The message contains nothing that may be a token itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidToken(String);

impl Token {
    /// A token that allows every request.
    #[must_use]
    pub const fn with_all_rights(hash: [u8; 32]) -> Self {
        Self { hash, scope: Scope::All, reach: Reach::Everything, label: None }
    }

    /// Reads a token from words: its hash first, then what limits or names it. `sha256sum` prints a file
    /// name after the hash, so other words are ignored, unless they look like a misspelt limit. `None` if
    /// there is no word.
    ///
    /// # Errors
    ///
    /// If the first word is not a hash, or another one could give wrong rights.
    pub fn read<'a>(
        words: impl IntoIterator<Item = &'a str>,
    ) -> Result<Option<Self>, InvalidToken> {
        let mut words = words.into_iter();
        let Some(digits) = words.next() else {
            return Ok(None);
        };
        let invalid = |problem: &str| InvalidToken(problem.to_owned());
        let hash = ids::unhex(digits).and_then(|bytes| bytes.try_into().ok()).ok_or_else(|| {
            invalid("it does not begin with a SHA-256 hash, which is 64 hexadecimal digits")
        })?;
        let (mut scope, mut reach, mut label) = (None, None, None);
        for (name, value) in words.filter_map(|word| word.split_once('=')) {
            let is_second = match name {
                "scope" => {
                    let read = Scope::named(value);
                    let read =
                        read.ok_or_else(|| invalid("use scope=read, scope=run or scope=all"))?;
                    scope.replace(read).is_some()
                }
                "collections" => {
                    let read = Reach::read(value).map_err(|why| InvalidToken(why.to_string()))?;
                    reach.replace(read).is_some()
                }
                "name" => label.replace(Self::label(value)).is_some(),
                // `Scope=read` or `collection=ops/*` must not give all rights.
                name if name.chars().all(|c| c.is_ascii_alphabetic()) => {
                    return Err(InvalidToken(format!(
                        "'{name}=' is not known: use scope=, collections= or name="
                    )));
                }
                _ => false,
            };
            if is_second {
                return Err(InvalidToken(format!("it has '{name}=' twice: give one")));
            }
        }
        Ok(Some(Self {
            hash,
            scope: scope.unwrap_or(Scope::All),
            reach: reach.unwrap_or_default(),
            label: label.flatten(),
        }))
    }

    /// Reads the tokens of a setting: separated by commas, and the words of each by colons. Patterns of
    /// collections have commas between them, too, and each of them a slash, which no hash has.
    ///
    /// # Errors
    ///
    /// The number of the first token that is invalid, and why it is.
    pub fn read_setting(text: &str) -> Result<Vec<Self>, (usize, InvalidToken)> {
        let mut entries: Vec<String> = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let is_pattern = part.split(':').next().is_some_and(|first| first.contains('/'));
            match entries.last_mut() {
                Some(entry) if is_pattern => {
                    entry.push(',');
                    entry.push_str(part);
                }
                _ => entries.push(part.to_owned()),
            }
        }
        let read = |(n, entry): (usize, &String)| {
            Self::read(entry.split(':')).map_err(|why| (n, why)).transpose()
        };
        (1..).zip(&entries).filter_map(read).collect()
    }

    /// A name of a token as it is kept; `None` if nothing is left of it.
    #[must_use]
    pub fn label(text: &str) -> Option<Arc<str>> {
        let shown = text.chars().filter(|c| !c.is_control());
        let label: String = shown.take(LABEL_CHARS_MAX).collect();
        (!label.is_empty()).then(|| label.into())
    }

    /// The words that [`read`](Self::read) reads, without the label.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let limited = !self.reach.is_everything();
        let limits = [
            (self.scope != Scope::All).then(|| format!("scope={}", self.scope.name())),
            limited.then(|| format!("collections={}", self.reach)),
        ];
        std::iter::once(ids::hex(&self.hash)).chain(limits.into_iter().flatten()).collect()
    }

    /// The name of the token: its label, or the beginning of its hash, which tells it from others and
    /// reveals nothing of it.
    pub(crate) fn name(&self) -> Arc<str> {
        let (first, _) = self.hash.split_at(NAME_BYTES);
        self.label.clone().unwrap_or_else(|| format!("token {}", ids::hex(first)).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<Token>, String> {
        Token::read(text.split_whitespace()).map_err(|why| why.to_string())
    }

    #[test]
    fn words_limit_a_token_and_are_written_as_they_are_read() {
        let hash = "0a".repeat(32);
        for (limits, scope, patterns) in [
            ("", Scope::All, ""),
            ("scope=read", Scope::Read, ""),
            ("collections=shop/*,ops/nightly-*", Scope::All, "shop/*,ops/nightly-*"),
            ("scope=run collections=s/*/Jobs", Scope::Run, "s/*/jobs"),
        ] {
            let token = read(&format!("{hash} {limits}")).unwrap().unwrap();
            assert_eq!((token.scope, token.reach.to_string().as_str()), (scope, patterns));
            let written = token.words().join(" ");
            assert_eq!(read(&written), Ok(Some(token)), "{written}");
        }
        let named = read(&format!("{hash} - name=shop my.txt")).unwrap().unwrap();
        assert_eq!(named.label.as_deref(), Some("shop"));
        assert_eq!(read(""), Ok(None));
    }

    #[test]
    fn words_that_could_give_wrong_rights_are_refused() {
        let hash = "0a".repeat(32);
        for (words, why) in [
            ("scope=admin", "use scope=read, scope=run or scope=all"),
            ("Scope=read", "'Scope=' is not known"),
            ("collection=ops/a", "'collection=' is not known"),
            ("collections=a//b", "has an empty name"),
            ("collections=", "has an empty name"),
            ("collections=a/b collections=c/d", "it has 'collections=' twice"),
            ("scope=read scope=read", "it has 'scope=' twice"),
        ] {
            let found = read(&format!("{hash} {words}")).unwrap_err();
            assert!(found.contains(why), "{words}: {found}");
        }
    }

    #[test]
    fn a_setting_has_tokens_between_commas_and_words_between_colons() {
        let (one, other) = ("0a".repeat(32), "ff".repeat(32));
        let text =
            format!("{one}:collections=shop/*, ops/nightly-*:scope=run:name=shop,\n{other},");
        let tokens = Token::read_setting(&text).unwrap();
        let found: Vec<_> = tokens.iter().map(|token| token.words().join(" ")).collect();
        let limited = format!("{one} scope=run collections=shop/*,ops/nightly-*");
        assert_eq!(found, [limited, other.clone()]);
        assert_eq!(tokens[0].label.as_deref(), Some("shop"));
        assert_eq!(Token::read_setting(" , "), Ok(Vec::new()));
        for (text, number) in [(format!("{one},x"), 2), ("ops/*".to_owned(), 1)] {
            let (found, why) = Token::read_setting(&text).unwrap_err();
            assert_eq!(found, number);
            assert!(why.to_string().contains("SHA-256 hash"), "{why}");
        }
    }
}
