//! Hosts of Azure services: one for each account or namespace below a suffix, or one for all of them,
//! like an emulator.

use std::fmt;

use url::{Host, Url};

/// The hosts of an Azure service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    kind: EndpointKind,
    /// Whether connections use TLS.
    is_tls: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum EndpointKind {
    /// Each account or namespace has a host of its own below this suffix.
    PerAccount { suffix: String, port: Option<u16> },
    /// All accounts and namespaces have this one URL.
    Shared(Url),
}

/// The URL of a service for one account, and its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResolvedUrl {
    /// The URL, with the path below which the service's resources are.
    pub(crate) url: Url,
    /// Whether the host comes from the settings and not from a job. Such a host may be private.
    pub(crate) is_from_settings: bool,
}

/// A setting that is neither a suffix of host names nor a URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct EndpointError {
    given: String,
    example: &'static str,
}

impl fmt::Display for EndpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { given, example } = self;
        write!(f, "'{given}' is neither the suffix of host names nor a URL like {example}")
    }
}

/// The URL schemes of a protocol with and without TLS, and an example for error messages.
struct Schemes {
    secure: &'static str,
    plain: &'static str,
    example: &'static str,
}

const HTTP: Schemes = Schemes { secure: "https", plain: "http", example: "http://127.0.0.1:10001" };
const AMQP: Schemes = Schemes { secure: "amqps", plain: "amqp", example: "amqp://127.0.0.1:5672" };

impl Endpoint {
    /// Parses an HTTP endpoint: a suffix like `core.chinacloudapi.cn`, or a URL.
    ///
    /// # Errors
    ///
    /// If it is neither.
    ///
    /// ```
    /// use minutehand_actions::Endpoint;
    ///
    /// assert!(Endpoint::http("core.windows.net").is_ok());
    /// assert!(Endpoint::http("http://127.0.0.1:10001").is_ok());
    /// assert!(Endpoint::http("ftp://127.0.0.1").is_err());
    /// ```
    pub fn http(text: &str) -> Result<Self, EndpointError> {
        Self::parse(text, &HTTP)
    }

    /// Parses an AMQP endpoint: a suffix like `servicebus.windows.net:5671`, or a URL.
    ///
    /// # Errors
    ///
    /// If it is neither.
    pub fn amqp(text: &str) -> Result<Self, EndpointError> {
        Self::parse(text, &AMQP)
    }

    /// Creates an endpoint with a host for each account, from a suffix that is known to be valid.
    pub(crate) fn with_suffix(suffix: &str) -> Self {
        let kind = EndpointKind::PerAccount { suffix: suffix.to_owned(), port: None };
        Self { kind, is_tls: true }
    }

    /// The default AMQP endpoint for this HTTP endpoint: the same hosts, and the port of AMQP.
    #[must_use]
    pub fn default_amqp(&self) -> Self {
        let kind = match &self.kind {
            EndpointKind::PerAccount { suffix, .. } => {
                EndpointKind::PerAccount { suffix: suffix.clone(), port: None }
            }
            EndpointKind::Shared(url) => {
                let scheme = if self.is_tls { AMQP.secure } else { AMQP.plain };
                let host = url.host_str().unwrap_or_default();
                match Url::parse(&format!("{scheme}://{host}")) {
                    Ok(url) => EndpointKind::Shared(url),
                    Err(_) => EndpointKind::Shared(url.clone()),
                }
            }
        };
        Self { kind, is_tls: self.is_tls }
    }

    fn parse(text: &str, schemes: &Schemes) -> Result<Self, EndpointError> {
        let text = text.trim();
        let wrong = || EndpointError { given: text.to_owned(), example: schemes.example };
        if text.contains("://") {
            let url = Url::parse(text).map_err(|_| wrong())?;
            let is_tls = url.scheme() == schemes.secure;
            let is_plain = url.scheme() == schemes.plain;
            let has_more = url.query().is_some()
                || url.fragment().is_some()
                || !url.username().is_empty()
                || url.password().is_some();
            if !(is_tls || is_plain) || url.host_str().is_none_or(str::is_empty) || has_more {
                return Err(wrong());
            }
            return Ok(Self { kind: EndpointKind::Shared(url), is_tls });
        }
        // A suffix is a host name. If the URL has any other part, the text is invalid.
        let parsed = Url::parse(&format!("https://{}", text.trim_start_matches('.')));
        let parsed = parsed.map_err(|_| wrong())?;
        let (Some(Host::Domain(suffix)), "/", None) =
            (parsed.host(), parsed.path(), parsed.query())
        else {
            return Err(wrong());
        };
        if !parsed.username().is_empty() || parsed.fragment().is_some() {
            return Err(wrong());
        }
        let kind = EndpointKind::PerAccount { suffix: suffix.to_owned(), port: parsed.port() };
        Ok(Self { kind, is_tls: true })
    }

    pub(crate) const fn is_tls(&self) -> bool {
        self.is_tls
    }

    /// The URL of an account or namespace; `None` if its name is not valid in a host name.
    ///
    /// For a host below a suffix, `scheme` is the scheme of the URL, and `service` stands between the
    /// account's name and the suffix.
    pub(crate) fn resolve(
        &self,
        scheme: &str,
        name: &str,
        service: Option<&str>,
    ) -> Option<ResolvedUrl> {
        match &self.kind {
            EndpointKind::Shared(url) => {
                Some(ResolvedUrl { url: url.clone(), is_from_settings: true })
            }
            EndpointKind::PerAccount { suffix, port } => {
                let between = service.map(|service| format!("{service}.")).unwrap_or_default();
                let host = format!("{name}.{between}{suffix}").to_ascii_lowercase();
                let port = port.map(|port| format!(":{port}")).unwrap_or_default();
                let url = Url::parse(&format!("{scheme}://{host}{port}")).ok()?;
                // A name with other characters, like a slash, would lead to another host.
                let is_intact = url.host_str().is_some_and(|found| found == host);
                (is_intact && !name.is_empty())
                    .then_some(ResolvedUrl { url, is_from_settings: false })
            }
        }
    }

    /// Whether all accounts have one host. Their names then belong into the paths of URLs.
    pub(crate) const fn is_shared(&self) -> bool {
        matches!(self.kind, EndpointKind::Shared(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(endpoint: &Endpoint, name: &str, service: Option<&str>) -> Option<String> {
        endpoint.resolve("https", name, service).map(|resolved| resolved.url.to_string())
    }

    #[test]
    fn below_a_suffix_each_account_has_a_host() {
        for (text, service, expected) in [
            ("core.windows.net", Some("queue"), "https://contoso.queue.core.windows.net/"),
            (
                ".core.chinacloudapi.cn",
                Some("queue"),
                "https://contoso.queue.core.chinacloudapi.cn/",
            ),
            ("servicebus.windows.net", None, "https://contoso.servicebus.windows.net/"),
            ("bus.test:8443", None, "https://contoso.bus.test:8443/"),
        ] {
            let endpoint = Endpoint::http(text).unwrap();
            assert_eq!(url(&endpoint, "contoso", service).unwrap(), expected);
        }
    }

    #[test]
    fn names_cannot_lead_to_another_host() {
        let endpoint = Endpoint::http("core.windows.net").unwrap();
        for name in ["evil.test/", "evil.test#", "a@evil.test:1", "a b", ""] {
            assert_eq!(url(&endpoint, name, None), None, "{name}");
        }
    }

    #[test]
    fn a_url_is_the_host_of_all_accounts() {
        let endpoint = Endpoint::http("http://127.0.0.1:10001/base").unwrap();
        assert_eq!(
            url(&endpoint, "contoso", Some("queue")).unwrap(),
            "http://127.0.0.1:10001/base"
        );
        assert!(!endpoint.is_tls() && endpoint.is_shared());
    }

    #[test]
    fn texts_that_are_neither_suffix_nor_url_are_refused() {
        for text in [
            "",
            "ftp://a",
            "https://",
            "https://u:p@a",
            "https://a?b",
            "a/b",
            "a b",
            "10.0.0.1",
            "u@a",
        ] {
            assert!(Endpoint::http(text).is_err(), "{text}");
        }
        assert!(Endpoint::amqp("https://a").is_err());
    }

    #[test]
    fn amqp_defaults_to_the_hosts_of_http() {
        for (http, amqp) in [
            ("http://127.0.0.1:5300", "amqp://127.0.0.1"),
            ("https://bus.test", "amqps://bus.test"),
            ("servicebus.windows.net", "servicebus.windows.net"),
            ("servicebus.windows.net:444", "servicebus.windows.net"),
        ] {
            let default = Endpoint::http(http).unwrap().default_amqp();
            assert_eq!(default, Endpoint::amqp(amqp).unwrap(), "{http}");
        }
    }
}
