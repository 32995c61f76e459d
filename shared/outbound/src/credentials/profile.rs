//! A profile with keys, in the files that AWS's tools write.

use std::collections::HashMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use aws_credential_types::Credentials;

use super::{AwsEnvironment, NoCredentials};

/// More than any of these files contains.
const BYTES_MAX: u64 = 1 << 20;
/// What a profile may say that is not read here.
const NOT_READ: [&str; 5] =
    ["credential_process", "role_arn", "source_profile", "sso_session", "sso_start_url"];

/// A profile.
pub(super) struct Profile {
    name: String,
    /// The file of credentials, and that of settings. The first one counts.
    files: [PathBuf; 2],
}

impl Profile {
    /// The profile that the environment names, or the one with the name `default`, if it has keys.
    pub(super) fn of(environment: &AwsEnvironment<'_>) -> Result<Option<Self>, NoCredentials> {
        let Some(profile) = Self::named(environment)? else { return Ok(None) };
        let is_named = environment.get("AWS_PROFILE").is_some();
        // A default profile may be there for another reason, such as its region.
        if is_named || profile.find()?.is_some_and(|found| found.contains_key("aws_access_key_id"))
        {
            profile.read()?;
            return Ok(Some(profile));
        }
        Ok(None)
    }

    /// The profile that the environment names, or the one with the name `default`; `None` without a home.
    fn named(environment: &AwsEnvironment<'_>) -> Result<Option<Self>, NoCredentials> {
        let named = environment.get("AWS_PROFILE");
        let in_home =
            |name: &str| environment.home.as_ref().map(|home| home.join(".aws").join(name));
        let file = |variable: &str, name: &str| {
            environment.get(variable).map(PathBuf::from).or_else(|| in_home(name))
        };
        let files =
            (file("AWS_SHARED_CREDENTIALS_FILE", "credentials"), file("AWS_CONFIG_FILE", "config"));
        let (Some(credentials), Some(config)) = files else {
            return match named {
                None => Ok(None),
                Some(name) => Err(NoCredentials::new(format!(
                    "AWS_PROFILE names '{name}', and HOME is not set: set \
                     AWS_SHARED_CREDENTIALS_FILE and AWS_CONFIG_FILE"
                ))),
            };
        };
        let name = named.unwrap_or_else(|| "default".to_owned());
        Ok(Some(Self { name, files: [credentials, config] }))
    }

    /// Its keys, as they are now.
    pub(super) fn read(&self) -> Result<Credentials, NoCredentials> {
        let Self { name, files: [credentials, config] } = self;
        let Some(found) = self.find()? else {
            return Err(NoCredentials::new(format!(
                "AWS_PROFILE names '{name}', which is neither in {} nor in {}",
                credentials.display(),
                config.display()
            )));
        };
        let key = |key: &str| found.get(key).filter(|value| !value.is_empty());
        match (key("aws_access_key_id"), key("aws_secret_access_key")) {
            (Some(id), Some(secret)) => {
                let token = key("aws_session_token").cloned();
                Ok(Credentials::new(id, secret, token, None, "profile"))
            }
            _ => Err(NoCredentials::new(
                match NOT_READ.into_iter().find(|key| found.contains_key(*key)) {
                    Some(other) => format!(
                        "the profile '{name}' has {other}, which is not read here: set what `aws configure \
                     export-credentials --profile {name} --format env` prints"
                    ),
                    None => format!(
                        "the profile '{name}' has no aws_access_key_id and aws_secret_access_key"
                    ),
                },
            )),
        }
    }

    /// What both files say of it. The file of credentials counts.
    fn find(&self) -> Result<Option<HashMap<String, String>>, NoCredentials> {
        let [credentials, config] = &self.files;
        let titles = [self.name.clone(), format!("profile {}", self.name)];
        let from_config = section(&text(config)?, &titles);
        let from_credentials = section(&text(credentials)?, &titles[..1]);
        Ok(match (from_config, from_credentials) {
            (None, None) => None,
            (below, above) => {
                let mut all = below.unwrap_or_default();
                all.extend(above.unwrap_or_default());
                Some(all)
            }
        })
    }
}

/// The region of the profile that the environment names, or of the default one.
///
/// # Errors
///
/// If a file of profiles cannot be read.
pub fn region_of_profile(
    environment: &AwsEnvironment<'_>,
) -> Result<Option<String>, NoCredentials> {
    let Some(profile) = Profile::named(environment)? else { return Ok(None) };
    let region = profile.find()?.and_then(|mut found| found.remove("region"));
    Ok(region.filter(|region| !region.is_empty()))
}

/// The text of a file; empty if it does not exist.
fn text(path: &Path) -> Result<String, NoCredentials> {
    let failed = |why: &str| NoCredentials::new(format!("cannot read {}: {why}", path.display()));
    match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(String::new()),
        Err(error) => return Err(failed(&error.to_string())),
        Ok(found) if found.len() > BYTES_MAX => return Err(failed("it is too large")),
        Ok(_) => {}
    }
    fs::read_to_string(path).map_err(|error| failed(&error.to_string()))
}

/// The keys of a section with one of these titles.
fn section(text: &str, titles: &[String]) -> Option<HashMap<String, String>> {
    let mut found = None::<HashMap<String, String>>;
    let mut is_inside = false;
    for line in text.lines() {
        let trimmed = line.trim();
        if let Some(title) = trimmed.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
            is_inside = titles.contains(&title);
            if is_inside {
                found.get_or_insert_default();
            }
            continue;
        }
        // What is indented belongs to the key above it, and no key that is read here has such lines.
        if !is_inside || line.starts_with([' ', '\t', '#', ';']) {
            continue;
        }
        if let (Some((key, value)), Some(found)) = (trimmed.split_once('='), &mut found) {
            let value = value.split(" #").next().unwrap_or_default();
            found.insert(key.trim().to_lowercase(), value.trim().to_owned());
        }
    }
    found
}
