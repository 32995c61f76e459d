//! The tokens that give access to the API: generated, given as an argument, or listed in a file.
//!
//! A token file is read once a second, as `watched_file` describes.

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use minutehand_ports::IdSource;
use minutehand_rest::{Access, Token};
use minutehand_runtime::RandomIds;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::private_file;
use super::watched_file::Kind;
use crate::data_dir::DataDir;

pub(in crate::serve) const TOKEN_FILE: &str = "token";

/// The token that the server created by itself.
pub(in crate::serve) struct GeneratedToken {
    pub(in crate::serve) access: Access,
    /// The line that tells the user where the token is.
    pub(in crate::serve) note: String,
    /// The token if this start has made it: it is shown once.
    pub(in crate::serve) made: Option<Zeroizing<String>>,
}

/// Gives access to one token.
pub(in crate::serve) fn access_of(token: &str) -> Access {
    Access::Tokens(vec![Token::with_all_rights(Sha256::digest(token).into())])
}

impl GeneratedToken {
    /// Reads the token of a data directory, or creates it at the first start. Without a directory the
    /// token is new for each run.
    pub(in crate::serve) fn load_or_create(dir: Option<&DataDir>) -> Result<Self> {
        let path = dir.map(|dir| dir.path().join(TOKEN_FILE));
        let saved = path.as_deref().map(private_file::read).transpose()?.flatten();
        if let (Some(text), Some(path)) = (saved, &path) {
            let token = text.trim();
            if token.is_empty() {
                bail!("{} is empty: delete it, and a new token is created", path.display());
            }
            let note = format!("the token is in {}", path.display());
            return Ok(Self { access: access_of(token), note, made: None });
        }
        let token = Zeroizing::new(RandomIds.new_id());
        let access = access_of(&token);
        let note = match dir {
            Some(dir) => {
                let line = Zeroizing::new(format!("{}\n", *token));
                let path = private_file::write(dir.path(), TOKEN_FILE, &line)?;
                format!("token: {} (kept in {}, and not shown again)", *token, path.display())
            }
            None => format!("token: {} (for this run)", *token),
        };
        Ok(Self { access, note, made: Some(token) })
    }
}

/// The file of tokens. A file that is invalid gives no access to any client, and so does not count.
pub(in crate::serve) const TOKENS: Kind<Access> =
    Kind { file: "token file", entries: "tokens", parse };

/// Reads a token file: in each line the hash of a token and perhaps its limits; `#` starts a comment. The
/// label of a token is the comment in its line, or else in the line above.
fn parse(text: &str) -> Result<Access> {
    let mut tokens: Vec<(u32, Token)> = Vec::new();
    let mut above = None;
    for (number, line) in (1..).zip(text.lines()) {
        let above = std::mem::replace(&mut above, label(line));
        let (words, comment) = line.split_once('#').unwrap_or((line, ""));
        let token = Token::read(words.split_whitespace());
        let Some(token) = token.with_context(|| format!("line {number}"))? else {
            continue;
        };
        let label = Token::label(comment.trim()).or(token.label).or(above);
        let token = Token { label, ..token };
        let same = tokens.iter().find(|(_, known)| known.hash == token.hash);
        match same {
            Some((_, known)) if (known.scope, &known.reach) == (token.scope, &token.reach) => {}
            Some((first, _)) => bail!(
                "lines {first} and {number} give one token different rights: remove one of them"
            ),
            None => tokens.push((number, token)),
        }
    }
    if tokens.is_empty() {
        bail!("the file contains no token: add the SHA-256 hash of at least one");
    }
    Ok(Access::Tokens(tokens.into_iter().map(|(_, token)| token).collect()))
}

/// The label in a line that is a comment.
pub(super) fn label(line: &str) -> Option<Arc<str>> {
    let comment = line.trim_start().strip_prefix('#')?.trim_start_matches('#').trim();
    Token::label(comment)
}

#[cfg(test)]
mod tests {
    use minutehand_rest::Scope;

    use super::*;

    const FIRST: &str = "a7937b64b8caa58f03721bb6bacf5c78cb235febe0e70b1b84cd99541461a08e";
    const SECOND: &str = "16367aacb67a4a017c8da8ab95682ccb390863780f7114dda0a0e0c55644c7c4";
    const THIRD: &str = "00007b64b8caa58f03721bb6bacf5c78cb235febe0e70b1b84cd99541461a08e";

    fn scopes(text: &str) -> Result<Vec<Scope>, String> {
        match parse(text) {
            Ok(Access::Tokens(tokens)) => Ok(tokens.iter().map(|token| token.scope).collect()),
            Ok(Access::Open | Access::ThisMachine) => panic!("a file never opens the API"),
            Err(error) => Err(format!("{error:#}")),
        }
    }

    #[test]
    fn a_line_is_read_as_sha256sum_prints_it_and_may_name_a_scope() {
        use Scope::{All, Read, Run};
        for (line, scope) in [
            (FIRST.to_owned(), All),
            (format!("{FIRST}  -"), All),
            (format!("  {FIRST} *my token.txt # laptop"), All),
            (format!("{FIRST}  - scope=read"), Read),
            (format!("{FIRST} scope=run  # scope=all"), Run),
            (format!("{FIRST} scope=all"), All),
        ] {
            assert_eq!(scopes(&line), Ok(vec![scope]), "{line}");
        }
        let text = format!("# two\n\n{FIRST}\n{SECOND} scope=read\n{FIRST}\n");
        assert_eq!(scopes(&text), Ok(vec![All, Read]));
    }

    #[test]
    fn a_comment_beside_or_above_a_token_is_its_label() {
        let text = format!(
            "# tokens of the team\n\n#  the web shop, until March \n{FIRST} scope=read\n{SECOND}\n\
             # above\n{THIRD} # ops\n"
        );
        let Ok(Access::Tokens(tokens)) = parse(&text) else { panic!("{text}") };
        let labels: Vec<Option<&str>> = tokens.iter().map(|token| token.label.as_deref()).collect();
        assert_eq!(labels, [Some("the web shop, until March"), None, Some("ops")]);
    }

    #[test]
    fn a_line_that_could_give_wrong_rights_is_refused() {
        for (text, why) in [
            ("first", "line 1: it does not begin with a SHA-256 hash"),
            (&format!("{FIRST}\n{SECOND}0"), "line 2: it does not begin with a SHA-256 hash"),
            (&format!("{FIRST} scope=Read"), "line 1: use scope=read, scope=run or scope=all"),
            (&format!("{FIRST} Scope=read"), "line 1: 'Scope=' is not known"),
            (&format!("{FIRST} collections=a//b"), "line 1: the pattern 'a//b' has an empty name"),
            (&format!("{FIRST} scope="), "line 1: use scope=read, scope=run or scope=all"),
            (&format!("{FIRST} scope=read scope=all"), "line 1: it has 'scope=' twice"),
            (
                &format!("{FIRST}\n\n{FIRST} scope=read"),
                "lines 1 and 3 give one token different rights: remove one of them",
            ),
            ("# none", "the file contains no token"),
        ] {
            let found = scopes(text).unwrap_err();
            assert!(found.contains(why), "{text}: {found}");
        }
    }
}
