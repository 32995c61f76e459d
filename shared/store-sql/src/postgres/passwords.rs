//! The password of an address that has none: from the environment or the password file, as libpq has it.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use tokio_postgres::Config;
use tokio_postgres::config::Host;

use super::error::PgError;

/// The most bytes of a password file that are read.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// The port of an address that names none.
const PORT: u16 = 5432;
/// What a password file calls the socket of this machine.
const SOCKET: &str = "localhost";

/// Finds the password for an address that has none.
pub(super) fn find(
    config: &Config,
    environment: impl Fn(&str) -> Option<String>,
) -> Result<Option<String>, PgError> {
    let given = |name: &str| environment(name).filter(|value| !value.is_empty());
    if config.get_password().is_some() {
        return Ok(None);
    }
    if let Some(password) = given("PGPASSWORD") {
        return Ok(Some(password));
    }
    let home = || given("HOME").map(|home| PathBuf::from(home).join(".pgpass"));
    let Some(path) = given("PGPASSFILE").map(PathBuf::from).or_else(home) else {
        return Ok(None);
    };
    // Without a file, the server may ask for no password.
    let Ok(file) = File::open(&path) else { return Ok(None) };
    let shown = path.display();
    if file.metadata().is_ok_and(|metadata| metadata.mode() & 0o077 != 0) {
        let why = format!(
            "its password may be in {shown}, which other users can access: run `chmod 600 {shown}`"
        );
        return Err(PgError::Address(why));
    }
    let mut text = String::new();
    file.take(FILE_BYTES_MAX)
        .read_to_string(&mut text)
        .map_err(|error| PgError::Address(format!("cannot read {shown}: {error}")))?;
    let user = config.get_user().unwrap_or_default();
    let database = config.get_dbname().unwrap_or(user);
    let ports = config.get_ports();
    let mut hosts = config.get_hosts().iter().enumerate();
    Ok(hosts.find_map(|(n, host)| {
        let port = ports.get(n).or(ports.first()).copied().unwrap_or(PORT).to_string();
        let host = match host {
            Host::Tcp(name) => name,
            Host::Unix(_) => SOCKET,
        };
        of_file(&text, [host, &port, database, user])
    }))
}

/// The password of the first line whose fields are these, or `*`.
fn of_file(text: &str, wanted: [&str; 4]) -> Option<String> {
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let mut fields = fields(line).into_iter();
        let is_it = wanted
            .iter()
            .all(|wanted| fields.next().is_some_and(|field| field == "*" || field == *wanted));
        fields.next().filter(|_| is_it)
    })
}

/// The fields of a line. A backslash stands before a colon or a backslash that is part of a field.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut field) = (Vec::new(), String::new());
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => field.extend(characters.next()),
            ':' => fields.push(std::mem::take(&mut field)),
            other => field.push(other),
        }
    }
    fields.push(field);
    fields
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_first_line_that_fits_has_the_password() {
        let text = "# db:5432:jobs:u:comment\nother:*:*:*:wrong\ndb:5433:jobs:u:port\n\
                    db:*:jobs:u:a\\:b\\\\c\n*:*:*:*:last\n";
        for (wanted, password) in [
            (["db", "5432", "jobs", "u"], Some("a:b\\c")),
            (["db", "5433", "jobs", "u"], Some("port")),
            (["db", "5432", "jobs", "v"], Some("last")),
        ] {
            assert_eq!(of_file(text, wanted).as_deref(), password, "{wanted:?}");
        }
        assert_eq!(of_file("db:5432:jobs:u", ["db", "5432", "jobs", "u"]), None);
    }

    #[test]
    fn an_address_comes_first_then_the_environment_then_the_file() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(".pgpass"), "h:5432:d:u:of the file\n").unwrap();
        let mode = |mode| {
            fs::set_permissions(dir.path().join(".pgpass"), Permissions::from_mode(mode)).unwrap();
        };
        mode(0o600);
        let home = dir.path().to_str().unwrap().to_owned();
        let found = |address: &str, variable: &str| {
            find(&address.parse().unwrap(), |name| match name {
                "HOME" => Some(home.clone()),
                "PGPASSWORD" => Some(variable.to_owned()),
                _ => None,
            })
        };
        assert_eq!(found("postgres://u:p@h/d", "e").unwrap(), None, "it has one");
        assert_eq!(found("postgres://u@h/d", "e").unwrap().as_deref(), Some("e"));
        assert_eq!(found("postgres://u@h/d", "").unwrap().as_deref(), Some("of the file"));
        assert_eq!(found("postgres://u@other/d", "").unwrap(), None);
        mode(0o640);
        let error = found("postgres://u@h/d", "").unwrap_err().to_string();
        assert!(error.contains("chmod 600"), "{error}");
    }
}
