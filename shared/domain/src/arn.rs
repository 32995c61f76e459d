//! Amazon Resource Names (ARNs).

use std::fmt;

/// An ARN with all its parts: `arn:{partition}:{service}:{region}:{account}:{resource}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arn(String);

impl Arn {
    /// Reads the ARN of a resource of one service; `None` for any other text.
    ///
    /// ```
    /// use minutehand_domain::arn::Arn;
    ///
    /// let arn = Arn::read("arn:aws:sns:eu-west-1:123456789012:reports", "sns").unwrap();
    /// assert_eq!(arn.region(), "eu-west-1");
    /// assert_eq!(Arn::read("arn:aws:sqs:eu-west-1:123456789012:reports", "sns"), None);
    /// ```
    #[must_use]
    pub fn read(text: &str, service: &str) -> Option<Self> {
        let mut parts = text.splitn(6, ':');
        let mut next = || parts.next().filter(|part| !part.is_empty());
        let is_arn = next() == Some("arn");
        let is_partition = next().is_some_and(|text| text.starts_with("aws"));
        let is_service = next() == Some(service);
        let is_region = next().is_some_and(is_region);
        let is_account = next().is_some_and(|text| text.chars().all(|c| c.is_ascii_digit()));
        let is_resource = next().is_some_and(|text| text.chars().all(|c| c.is_ascii_graphic()));
        let is_whole =
            is_arn && is_partition && is_service && is_region && is_account && is_resource;
        is_whole.then(|| Self(text.to_owned()))
    }

    /// The ARN as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The region of the resource.
    #[must_use]
    pub fn region(&self) -> &str {
        self.part(3)
    }

    /// The account of the resource.
    #[must_use]
    pub fn account(&self) -> &str {
        self.part(4)
    }

    /// The resource within its account, such as `function:reports`.
    #[must_use]
    pub fn resource(&self) -> &str {
        self.part(5)
    }

    /// `read` requires all six parts, so the default is never used.
    fn part(&self, n: usize) -> &str {
        self.0.splitn(6, ':').nth(n).unwrap_or_default()
    }
}

impl fmt::Display for Arn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether a text can be the name of a region. The check is strict because the region becomes a part
/// of a host name.
#[must_use]
pub fn is_region(text: &str) -> bool {
    let known = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=32).contains(&text.len()) && text.chars().all(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arn_has_all_six_parts() {
        for (text, service, is_one) in [
            ("arn:aws:sns:eu-west-1:123456789012:t", "sns", true),
            ("arn:aws-cn:sns:cn-north-1:123456789012:t.fifo", "sns", true),
            ("arn:aws:lambda:eu-west-1:123456789012:function:f:live", "lambda", true),
            ("arn:aws:sns:eu-west-1:123456789012:", "sns", false),
            ("arn:aws:sns:eu-west-1:123456789012", "sns", false),
            ("arn:aws:sns::123456789012:t", "sns", false),
            ("arn:aws:sns:evil.test/:123456789012:t", "sns", false),
            ("arn:aws:sns:eu-west-1:me:t", "sns", false),
            ("arn:aws:sns:eu-west-1:123456789012:t t", "sns", false),
            ("arn:aws:sqs:eu-west-1:123456789012:t", "sns", false),
            ("", "sns", false),
        ] {
            assert_eq!(Arn::read(text, service).is_some(), is_one, "{text}");
        }
    }
}
