//! `minutehand token`: makes a token, and the line of a token file that opens the API for it.

use std::fmt::Write as _;

use clap::{Args, Subcommand};
use minutehand_cli::one_of;
use minutehand_domain::reach::Reach;
use minutehand_ports::IdSource as _;
use minutehand_rest::{Scope, Token};
use minutehand_runtime::RandomIds;
use sha2::{Digest as _, Sha256};

pub(crate) const CREATE_EXAMPLES: &str = "\
Examples:
  minutehand token create --name 'web shop'
  minutehand token create --scope run --collections 'shop/*,ops/nightly-*'
  minutehand token create --scope read --collections 'prod/*/billing'

Add the line to the file of serve --token-file; the server reads it within a second. On AWS, add the \
entry to the parameter TokenHashes. Give the token to its user: neither the file nor the server \
contains it.

A pattern is COLLECTION, GROUP/COLLECTION or SUBSCRIPTION/GROUP/COLLECTION, in any case; a * stands \
for any characters of one name. A token that is limited to collections cannot read or change other collections, dead \
letters, subscriptions, metrics or processes.";

#[derive(Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token, and print the line of a token file for it
    #[command(after_long_help = CREATE_EXAMPLES)]
    Create(CreateArgs),
}

#[derive(Args)]
pub(crate) struct CreateArgs {
    /// What the token allows: read; run also runs jobs; all also changes them
    #[arg(long, value_name = "SCOPE", default_value = "all", value_parser = one_of(
        [("read", Scope::Read), ("run", Scope::Run), ("all", Scope::All)]
    ))]
    scope: Scope,
    /// Limit the token to collections that match one of these patterns
    #[arg(long, value_name = "PATTERN,…", value_parser = Reach::read)]
    collections: Option<Reach>,
    /// Name of the token in the journal
    #[arg(long, value_name = "TEXT", value_parser = label)]
    name: Option<String>,
}

impl CreateArgs {
    /// A new token, and what opens the API for it.
    pub(crate) fn run(self) -> String {
        let secret = RandomIds.new_id();
        let token = Token {
            scope: self.scope,
            reach: self.collections.unwrap_or_default(),
            ..Token::with_all_rights(Sha256::digest(&secret).into())
        };
        told(&secret, &token, self.name.as_deref())
    }
}

fn told(secret: &str, token: &Token, name: Option<&str>) -> String {
    let words = token.words();
    let (mut line, mut entry) = (words.join(" "), words.join(":"));
    if let Some(name) = name {
        // Writing to a text does not fail.
        let _ = write!(line, " # {name}");
        let word = name.split(|c: char| c.is_whitespace() || matches!(c, ',' | ':' | '/' | '#'));
        let word: Vec<&str> = word.filter(|part| !part.is_empty()).collect();
        let _ = write!(entry, ":name={}", word.join("-"));
    }
    format!("token: {secret}\nline: {line}\nTokenHashes: {entry}\n")
}

/// A name, which must not begin another comment or another line.
fn label(text: &str) -> Result<String, &'static str> {
    let text = text.trim();
    let is_kept = Token::label(text).as_deref() == Some(text) && !text.starts_with('#');
    is_kept.then(|| text.to_owned()).ok_or("use 1 to 100 characters that are shown")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_and_the_entry_describe_the_token() {
        let token = Token {
            scope: Scope::Run,
            reach: Reach::read("shop/*,ops/nightly-*").unwrap(),
            ..Token::with_all_rights([10; 32])
        };
        let text = told("secret", &token, Some("web shop, Bonn"));
        let hash = "0a".repeat(32);
        assert_eq!(
            text,
            format!(
                "token: secret\n\
                 line: {hash} scope=run collections=shop/*,ops/nightly-* # web shop, Bonn\n\
                 TokenHashes: {hash}:scope=run:collections=shop/*,ops/nightly-*:name=web-shop-Bonn\n"
            )
        );
        let entry = text.lines().last().and_then(|line| line.strip_prefix("TokenHashes: "));
        let [read] = &Token::read_setting(entry.unwrap()).unwrap()[..] else { panic!("{text}") };
        let label = Token::label("web-shop-Bonn");
        assert_eq!(*read, Token { label, ..token });
    }

    #[test]
    fn a_new_token_is_known_by_its_hash() {
        let made = CreateArgs { scope: Scope::All, collections: None, name: None }.run();
        let field = |name: &str| made.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        let hash: [u8; 32] = Sha256::digest(field("token: ")).into();
        let read = Token::read(field("line: ").split_whitespace()).unwrap();
        assert_eq!(read, Some(Token::with_all_rights(hash)));
        assert_eq!(field("line: "), field("TokenHashes: "));
    }

    #[test]
    fn a_name_that_is_not_kept_as_it_is_is_refused() {
        let long = "n".repeat(101);
        for text in ["", " ", "a\nb", "# x", long.as_str()] {
            assert!(label(text).is_err(), "{text:?}");
        }
        assert_eq!(label(" web shop "), Ok("web shop".to_owned()));
    }
}
