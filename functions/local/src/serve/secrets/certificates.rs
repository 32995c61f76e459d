//! The client certificates that open the classic API: a file with a thumbprint in each line.
//!
//! It is read once a second, as `watched_file` describes. A file without a thumbprint is valid: it
//! takes the access of the last certificate away.

use anyhow::{Context, Result, bail};
use minutehand_domain::ids;
use minutehand_rest::{ManagementCertificate, Thumbprint};

use super::token::label;
use super::watched_file::Kind;

/// How `openssl x509 -fingerprint` begins a line, after the name of the hash.
const FINGERPRINT: &str = "Fingerprint=";

/// The file of client certificates.
pub(in crate::serve) const CERTIFICATES: Kind<Vec<ManagementCertificate>> =
    Kind { file: "file of management certificates", entries: "ones", parse };

/// Reads a file: in each line the thumbprint of a certificate and perhaps its subscription; `#` starts
/// a comment. A comment in the line above a certificate is its label.
fn parse(text: &str) -> Result<Vec<ManagementCertificate>> {
    let mut certificates: Vec<(u32, ManagementCertificate)> = Vec::new();
    let mut above = None;
    for (number, line) in (1..).zip(text.lines()) {
        let label = std::mem::replace(&mut above, label(line));
        let Some(found) = parse_line(line).with_context(|| format!("line {number}"))? else {
            continue;
        };
        let found = ManagementCertificate { label, ..found };
        let other_reach = certificates.iter().find(|(_, known)| {
            let is_same = known.thumbprint == found.thumbprint;
            is_same && known.subscription.is_some() != found.subscription.is_some()
        });
        if let Some((first, _)) = other_reach {
            bail!(
                "lines {first} and {number} give one certificate a subscription and all of them: \
                 remove one of them"
            );
        }
        certificates.push((number, found));
    }
    Ok(certificates.into_iter().map(|(_, certificate)| certificate).collect())
}

/// Reads one line; `None` if it has no thumbprint.
fn parse_line(line: &str) -> Result<Option<ManagementCertificate>> {
    let line = line.split('#').next().unwrap_or_default();
    let line = match line.split_once(FINGERPRINT) {
        Some((hash, rest)) if is_hash(hash.trim()) => rest,
        Some(_) | None => line,
    };
    let mut words = line.split_whitespace();
    let Some(digits) = words.next() else {
        return Ok(None);
    };
    let thumbprint = thumbprint(digits).context(
        "it does not begin with a thumbprint, which is the SHA-1 or the SHA-256 of a certificate: 40 \
         or 64 hexadecimal digits, with or without colons",
    )?;
    let subscription = words.next().map(str::to_owned);
    if words.next().is_some() {
        bail!(
            "it has more than a thumbprint and a subscription: give each certificate its own line"
        );
    }
    Ok(Some(ManagementCertificate { thumbprint, subscription, label: None }))
}

fn is_hash(name: &str) -> bool {
    ["sha1", "sha256"].iter().any(|hash| hash.eq_ignore_ascii_case(name))
}

fn thumbprint(digits: &str) -> Option<Thumbprint> {
    let bytes = ids::unhex(&digits.replace(':', ""))?;
    let sha1 = || <[u8; 20]>::try_from(bytes.as_slice()).ok().map(Thumbprint::Sha1);
    sha1().or_else(|| <[u8; 32]>::try_from(bytes.as_slice()).ok().map(Thumbprint::Sha256))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHA1: &str = "37F61B86F8DFF522706ECC29A8651A3C8D73FA35";
    const SHA256: &str = "a7937b64b8caa58f03721bb6bacf5c78cb235febe0e70b1b84cd99541461a08e";

    /// The subscriptions of a file, `*` for all, and the labels.
    fn read(text: &str) -> Result<Vec<(String, String)>, String> {
        let shown = |it: &ManagementCertificate| {
            let subscription = it.subscription.as_deref().unwrap_or("*").to_owned();
            (subscription, it.label.as_deref().unwrap_or_default().to_owned())
        };
        let certificates = parse(text).map_err(|error| format!("{error:#}"))?;
        Ok(certificates.iter().map(shown).collect())
    }

    #[test]
    fn a_line_is_a_thumbprint_as_tools_show_it_and_perhaps_a_subscription() {
        let colons: Vec<&str> =
            SHA1.as_bytes().chunks(2).map(|it| str::from_utf8(it).unwrap()).collect();
        let colons = colons.join(":");
        let known = thumbprint(SHA1).unwrap();
        assert!(matches!(known, Thumbprint::Sha1([0x37, 0xF6, ..])));
        for (line, subscription) in [
            (SHA1.to_owned(), None),
            (SHA1.to_lowercase(), None),
            (format!("  {colons} # of the build"), None),
            (format!("sha1 Fingerprint={colons}"), None),
            (format!("SHA1 Fingerprint={SHA1} s1"), Some("s1")),
            (
                format!("{SHA1}\t00000000-0000-0000-0000-000000000000 # x"),
                Some("00000000-0000-0000-0000-000000000000"),
            ),
        ] {
            let found = parse_line(&line).unwrap().unwrap();
            assert_eq!(
                (found.thumbprint, found.subscription.as_deref()),
                (known, subscription),
                "{line}"
            );
        }
        let found = parse_line(SHA256).unwrap().unwrap();
        assert!(matches!(found.thumbprint, Thumbprint::Sha256([0xa7, ..])));
    }

    #[test]
    fn comments_are_labels_and_one_certificate_may_have_several_subscriptions() {
        let text = format!("# of the build\n{SHA1} a\n\n{SHA1} b # x\n# all\n{SHA256}\n{SHA256}\n");
        let own = |subscription: &str, label: &str| (subscription.to_owned(), label.to_owned());
        let expected = vec![own("a", "of the build"), own("b", ""), own("*", "all"), own("*", "")];
        assert_eq!(read(&text), Ok(expected));
        for empty in ["", "\n", "# none"] {
            assert_eq!(read(empty), Ok(vec![]));
        }
    }

    #[test]
    fn a_line_that_could_give_wrong_rights_is_refused() {
        let no_thumbprint = "it does not begin with a thumbprint";
        for (text, line, why) in [
            ("first".to_owned(), 1, no_thumbprint),
            (format!("{SHA1}\n{SHA1}0"), 2, no_thumbprint),
            (format!("{SHA1}\n# x\n{}", &SHA1[2..]), 3, no_thumbprint),
            (format!("md5 Fingerprint={SHA1}"), 1, no_thumbprint),
            (format!("s1 {SHA1}"), 1, no_thumbprint),
            (format!("37 F6 1B {SHA1}"), 1, no_thumbprint),
            ("-----BEGIN CERTIFICATE-----".to_owned(), 1, no_thumbprint),
            (format!("{SHA1} a b"), 1, "it has more than a thumbprint and a subscription"),
        ] {
            let found = read(&text).unwrap_err();
            assert!(found.starts_with(&format!("line {line}: {why}")), "{text}: {found}");
        }
        for text in [format!("{SHA1}\n\n{SHA1} a"), format!("{SHA1} a\n#\n{SHA1}")] {
            let found = read(&text).unwrap_err();
            assert!(found.starts_with("lines 1 and 3 give one certificate"), "{text}: {found}");
        }
    }
}
