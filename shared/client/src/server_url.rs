//! The address of a server.

use std::fmt;

use url::{Host, Url};

/// The address of a server: a scheme, a host, and a path if a proxy adds one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerUrl(Url);

impl ServerUrl {
    /// Reads a URL as a user writes it.
    ///
    /// # Errors
    ///
    /// If the text is not the URL of a server, with a sentence that shows one.
    pub fn parse(text: &str) -> Result<Self, String> {
        let url = Url::parse(text).ok().filter(|url| {
            matches!(url.scheme(), "http" | "https")
                && url.has_host()
                && url.username().is_empty()
                && url.password().is_none()
                && url.query().is_none()
                && url.fragment().is_none()
        });
        url.map(Self).ok_or_else(|| {
            "give the http or https URL of a server, like http://127.0.0.1:7070".to_owned()
        })
    }

    /// The host as a connection is opened to it: an IPv6 address without brackets.
    #[must_use]
    pub fn host(&self) -> String {
        match self.0.host() {
            Some(Host::Domain(name)) => name.to_owned(),
            Some(Host::Ipv4(address)) => address.to_string(),
            Some(Host::Ipv6(address)) => address.to_string(),
            None => String::new(),
        }
    }

    /// The port, which the scheme tells if the URL does not.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.0.port_or_known_default().unwrap_or_default()
    }

    /// The host and the port as the header `Host` has them.
    #[must_use]
    pub fn authority(&self) -> &str {
        self.0.authority()
    }

    /// A path of this server with the path that this URL adds. The path begins with a slash.
    #[must_use]
    pub fn path_of(&self, path: &str) -> String {
        format!("{}{path}", self.0.path().trim_end_matches('/'))
    }

    /// The URL of a path on this server. The path begins with a slash.
    pub(crate) fn join(&self, path: &str) -> String {
        format!("{self}{path}")
    }

    /// The path and query of a link that this server sent, without the part that this URL adds.
    ///
    /// The host of the link is dropped: a proxy may name another one, and a token is for one host.
    pub(crate) fn path_of_link(&self, link: &str) -> Option<String> {
        let target = match Url::parse(link) {
            Ok(url) => match url.query() {
                Some(query) => format!("{}?{query}", url.path()),
                None => url.path().to_owned(),
            },
            Err(_) => link.to_owned(),
        };
        let prefix = self.0.path().trim_end_matches('/');
        let path = target.strip_prefix(prefix).unwrap_or(&target);
        path.starts_with('/').then(|| path.to_owned())
    }

    /// Whether the server is reached with TLS.
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// Whether the server is on this machine.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        match self.0.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        }
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str().trim_end_matches('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_a_server_and_nothing_else() {
        for text in ["http://127.0.0.1:7070", "https://[::1]:7070/", "https://example.com/jobs"] {
            assert!(ServerUrl::parse(text).is_ok(), "{text}");
        }
        let refused =
            ["", "127.0.0.1:7070", "ftp://h", "http://u:p@h", "http://h/?a", "http://h/#a"];
        for text in refused {
            assert!(ServerUrl::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_url_says_where_to_connect_and_what_to_ask_for() {
        let read = |text| {
            let url = ServerUrl::parse(text).unwrap();
            (
                url.host(),
                url.port(),
                url.authority().to_owned(),
                url.path_of("/healthz"),
                url.is_loopback(),
            )
        };
        let expected = |host: &str, port, authority: &str, path: &str, is_loopback| {
            (host.to_owned(), port, authority.to_owned(), path.to_owned(), is_loopback)
        };
        assert_eq!(
            read("http://127.0.0.1:7070"),
            expected("127.0.0.1", 7070, "127.0.0.1:7070", "/healthz", true)
        );
        assert_eq!(read("https://[::1]:1/"), expected("::1", 1, "[::1]:1", "/healthz", true));
        assert_eq!(
            read("http://localhost"),
            expected("localhost", 80, "localhost", "/healthz", true)
        );
        assert_eq!(
            read("https://example.com/jobs/"),
            expected("example.com", 443, "example.com", "/jobs/healthz", false)
        );
    }

    #[test]
    fn a_link_is_followed_on_the_same_server_only() {
        let server = ServerUrl::parse("https://example.com/jobs/").unwrap();
        for (link, path) in [
            ("https://example.com/jobs/a?b=c", Some("/a?b=c")),
            ("http://elsewhere.example/jobs/a", Some("/a")),
            ("http://elsewhere.example/a", Some("/a")),
            ("/jobs/a", Some("/a")),
            ("a", None),
        ] {
            assert_eq!(server.path_of_link(link).as_deref(), path, "{link}");
        }
        assert_eq!(server.join("/a"), "https://example.com/jobs/a");
    }
}
