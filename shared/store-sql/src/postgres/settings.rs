//! The address of a database, and how a connection to it is made.
//!
//! `sslmode` means what it means to libpq: `disable`, `allow`, `prefer` (the default) and `require` check no
//! certificate, `verify-ca` checks it, and `verify-full` its name, too. `sslrootcert` names a file of
//! authorities; without one, or with `system`, those of the system count. With a file of authorities,
//! `require` is `verify-ca`.

use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio::time::timeout;
use tokio_postgres::config::SslMode;
use tokio_postgres::{Client, Config, Connection, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::error::PgError;
use super::passwords;
use super::tls::{self, Check};

/// How long a connection may take, with TLS and the password.
pub(super) const CONNECT_MAX: Duration = Duration::from_secs(5);
/// How long a connection may be silent before it is asked whether it is there, and between questions.
const KEEPALIVE: Duration = Duration::from_secs(10);
/// How many questions may stay without an answer.
const KEEPALIVES_MAX: u32 = 3;

const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];
const NAME: &str = "minutehand";

type TlsStream = <MakeRustlsConnect as tokio_postgres::tls::MakeTlsConnect<Socket>>::Stream;

/// Where a database is, and how it is reached.
#[derive(Clone)]
pub struct PgAddress {
    config: Config,
    mode: Mode,
    tls: MakeRustlsConnect,
}

/// `sslmode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Disable,
    Allow,
    Prefer,
    /// With TLS, or not at all.
    Always,
}

impl PgAddress {
    /// Reads the address of a database, such as `postgres://user:password@host/database?sslmode=verify-full`.
    ///
    /// # Errors
    ///
    /// If it is none; or if authorities that it names cannot be read.
    pub fn read(address: &str) -> Result<Self, PgError> {
        let problem = |what: &str| PgError::Address(what.to_owned());
        if !SCHEMES.iter().any(|scheme| address.starts_with(scheme)) {
            return Err(problem("it does not begin with postgres://"));
        }
        let (place, options) = address.split_once('?').unwrap_or((address, ""));
        let (mut mode, mut authorities, mut others) = (None, None, Vec::new());
        for option in options.split('&').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            let value = percent_decode_str(value).decode_utf8();
            let value = value.map_err(|_| problem("an option is not valid text"))?.into_owned();
            match name {
                "sslmode" => mode = Some(value),
                "sslrootcert" => authorities = Some(value),
                _ => others.push(option),
            }
        }
        let (mode, check) = read_mode(mode.as_deref(), authorities)
            .ok_or_else(|| problem("its sslmode is none"))?;
        let rest = if others.is_empty() { String::new() } else { format!("?{}", others.join("&")) };
        let mut config: Config =
            format!("{place}{rest}").parse().map_err(|error: tokio_postgres::Error| {
                // The address itself may have a password.
                PgError::Address(
                    std::error::Error::source(&error)
                        .map_or_else(|| error.to_string(), ToString::to_string),
                )
            })?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(problem("it names no host, as postgres://user@host/database does"));
        }
        if config.get_application_name().is_none() {
            config.application_name(NAME);
        }
        config
            .connect_timeout(CONNECT_MAX)
            .keepalives_idle(KEEPALIVE)
            .keepalives_interval(KEEPALIVE)
            .keepalives_retries(KEEPALIVES_MAX)
            .tcp_user_timeout(KEEPALIVE * KEEPALIVES_MAX);
        Ok(Self { config, mode, tls: MakeRustlsConnect::new(tls::client(&check)?) })
    }

    /// The same address, with the password that libpq would find for it, if it has none.
    ///
    /// # Errors
    ///
    /// If the password file can be read by other users, or not at all.
    pub fn with_password_of(
        mut self,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, PgError> {
        if let Some(password) = passwords::find(&self.config, environment)? {
            self.config.password(password);
        }
        Ok(self)
    }

    /// Makes a connection.
    pub(super) async fn connect(&self) -> Result<(Client, Connection<Socket, TlsStream>), PgError> {
        let modes: &[SslMode] = match self.mode {
            Mode::Disable => &[SslMode::Disable],
            Mode::Allow => &[SslMode::Disable, SslMode::Require],
            Mode::Prefer => &[SslMode::Prefer, SslMode::Disable],
            Mode::Always => &[SslMode::Require],
        };
        let mut refused = PgError::Closed;
        for mode in modes {
            let mut config = self.config.clone();
            config.ssl_mode(*mode);
            let connecting = timeout(CONNECT_MAX, config.connect(self.tls.clone())).await;
            match connecting.map_err(|_| PgError::NoAnswer(CONNECT_MAX))? {
                Ok(connected) => return Ok(connected),
                Err(error) => refused = PgError::Connect(error),
            }
            // The next way is for a server that refuses clients which come in this one.
            if !refused.is_refused_client() {
                break;
            }
        }
        Err(refused)
    }

    /// What makes TLS of a connection.
    pub(super) fn tls(&self) -> MakeRustlsConnect {
        self.tls.clone()
    }
}

/// What `sslmode` and `sslrootcert` say.
fn read_mode(mode: Option<&str>, authorities: Option<String>) -> Option<(Mode, Check)> {
    let is_system = authorities.as_deref() == Some("system");
    Some(match mode.unwrap_or(if is_system { "verify-full" } else { "prefer" }) {
        "disable" => (Mode::Disable, Check::Nothing),
        "allow" => (Mode::Allow, Check::Nothing),
        "prefer" => (Mode::Prefer, Check::Nothing),
        "require" if authorities.is_none() => (Mode::Always, Check::Nothing),
        "require" | "verify-ca" => (Mode::Always, Check::Certificate(authorities)),
        "verify-full" => (Mode::Always, Check::CertificateAndName(authorities)),
        _ => return None,
    })
}

/// Shows no password.
impl std::fmt::Debug for PgAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PgAddress").field("mode", &self.mode).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sslmode_means_what_it_means_to_libpq() {
        let file = || Some("/ca.pem".to_owned());
        let system = || Some("system".to_owned());
        for (mode, authorities, read) in [
            (None, None, (Mode::Prefer, Check::Nothing)),
            (Some("disable"), None, (Mode::Disable, Check::Nothing)),
            (Some("allow"), None, (Mode::Allow, Check::Nothing)),
            (Some("prefer"), file(), (Mode::Prefer, Check::Nothing)),
            (Some("require"), None, (Mode::Always, Check::Nothing)),
            (Some("require"), file(), (Mode::Always, Check::Certificate(file()))),
            (Some("verify-ca"), file(), (Mode::Always, Check::Certificate(file()))),
            (Some("verify-full"), None, (Mode::Always, Check::CertificateAndName(None))),
            (None, system(), (Mode::Always, Check::CertificateAndName(system()))),
        ] {
            assert_eq!(read_mode(mode, authorities), Some(read), "{mode:?}");
        }
        assert_eq!(read_mode(Some("yes"), None), None);
    }

    #[test]
    fn an_address_that_is_none_is_refused_without_its_password() {
        for address in [
            "mysql://u:secret@h/d",
            "postgres://u:secret@h:port/d",
            "postgres://u:secret@h/d?sslmode=yes",
            "postgres://u:secret@h/d?nothing=1",
            "postgres:///d",
        ] {
            let error = PgAddress::read(address).unwrap_err().to_string();
            assert!(error.starts_with("the address") && !error.contains("secret"), "{error}");
        }
        let address =
            "postgres://u:secret@h1:5432,h2/d?sslmode=require&target_session_attrs=read-write";
        let settings = PgAddress::read(address).unwrap();
        assert_eq!(settings.config.get_hosts().len(), 2);
        assert_eq!(settings.mode, Mode::Always);
        assert!(!format!("{settings:?}").contains("secret"));
    }
}
