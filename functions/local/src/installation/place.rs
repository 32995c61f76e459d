//! Where an installation is: a data directory, or a table of AWS.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use async_trait::async_trait;
use minutehand_carry::StoreOfMoves;
use minutehand_embedded::{DataDirectory, SyncMode};
use minutehand_ports::{SealError, Sealer};
use minutehand_runtime::ProcessClock;
use minutehand_runtime_aws::{AwsSettings, Variables, dynamodb_client};
use minutehand_sealer_kms::KmsSealer;
use minutehand_store_dynamodb::{DynamoStore, Groups, TableStanding, ensure_table, look_at_table};

use crate::serve::{Home, Storage, TABLE, check_key};

/// How the name of a table begins.
const SCHEME: &str = "dynamodb://";
/// The most characters of the name of a table.
const TABLE_CHARS_MAX: usize = 255;
/// The variables of the environment that clients of AWS read.
const VARIABLES: [&str; 10] = [
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_DYNAMODB",
    "AWS_ENDPOINT_URL_KMS",
    "AWS_USE_FIPS_ENDPOINT",
    "AWS_USE_DUALSTACK_ENDPOINT",
];

/// Where an installation is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The data directory of a server that is stopped, or a backup of one.
    Directory(PathBuf),
    /// A table of DynamoDB, by its name.
    Table(String),
}

impl Place {
    /// Reads a directory, or `dynamodb://TABLE`.
    ///
    /// # Errors
    ///
    /// A sentence that says what to give instead.
    pub fn parse(text: &str) -> Result<Self, String> {
        let Some(table) = text.strip_prefix(SCHEME) else {
            return if text.is_empty() || text.contains("://") {
                Err(format!("give a data directory, like .minutehand, or {SCHEME}TABLE"))
            } else {
                Ok(Self::Directory(text.into()))
            };
        };
        let is_known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
        if table.is_empty() || table.len() > TABLE_CHARS_MAX || !table.chars().all(is_known) {
            return Err(format!("give the name of a table, like {SCHEME}minutehand-Table"));
        }
        Ok(Self::Table(table.to_owned()))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(path) => write!(f, "{}", path.display()),
            Self::Table(table) => write!(f, "{SCHEME}{table}"),
        }
    }
}

/// In the place of the key of a table that was not named.
struct NoKey;

const NO_KEY: &str = "name the KMS key of the table with --key, the output KeyArn of the stack; it needs \
                      kms:Decrypt, and for an import kms:GenerateDataKey";

#[async_trait]
impl Sealer for NoKey {
    async fn seal(&self, _place: &str, _plain: &str) -> Result<Vec<u8>, SealError> {
        Err(SealError::NoKey(NO_KEY.into()))
    }

    async fn open(&self, _place: &str, _sealed: &[u8]) -> Result<String, SealError> {
        Err(SealError::NoKey(NO_KEY.into()))
    }
}

/// An installation that is open.
pub(super) struct Opened {
    pub(super) store: Arc<dyn StoreOfMoves>,
    /// What seals its secrets.
    pub(super) sealer: Arc<dyn Sealer>,
    directory: Option<DataDirectory>,
}

impl Opened {
    /// Opens an installation. A data directory that does not exist is created.
    pub(super) async fn open(
        place: &Place,
        key: Option<&str>,
        environment: &impl Fn(&str) -> Option<String>,
    ) -> Result<Self> {
        match place {
            Place::Directory(_) if key.is_some() => {
                bail!("--key is for a table: a data directory has its own key")
            }
            Place::Directory(path) => {
                let storage = Storage::Directory { path: path.clone(), sync: SyncMode::Normal };
                let home = Home::open(&storage, false, Arc::new(ProcessClock::new()))?;
                let Home { dir, sealer, store, queue } = home;
                let (dir, mark) = dir.unzip();
                ensure_table(&store.client(), TABLE).await.context("cannot open the store")?;
                let jobs = DynamoStore::new(store.client(), TABLE);
                let jobs = jobs.with_groups(Groups::Transactions);
                if let Some(dir) = &dir {
                    check_key(dir, &sealer, &jobs, false).await?;
                }
                let directory = mark.map(|mark| DataDirectory { mark, store, queue });
                Ok(Self { store: Arc::new(jobs), sealer: Arc::new(sealer), directory })
            }
            Place::Table(table) => {
                let config = aws(place, environment)?.config().context("cannot set up TLS")?;
                let client = dynamodb_client(&config);
                let standing = look_at_table(&client, table).await;
                match standing.with_context(|| format!("cannot look at the table {table}"))? {
                    TableStanding::Ours => {}
                    TableStanding::Missing => bail!(
                        "there is no table {table} in this account and region: deploy the stack, or \
                         correct the name; its output TableName has it"
                    ),
                    TableStanding::Foreign => bail!(
                        "the table {table} is none of Minutehand's: it has another key, or no index of \
                         timers. The output TableName of the stack has the right name"
                    ),
                }
                let sealer: Arc<dyn Sealer> = match key {
                    Some(key) => Arc::new(KmsSealer::new(aws_sdk_kms::Client::new(&config), key)),
                    None => Arc::new(NoKey),
                };
                let store = Arc::new(DynamoStore::new(client, table));
                Ok(Self { store, sealer, directory: None })
            }
        }
    }

    /// Closes a data directory.
    pub(super) async fn close(self) -> Result<()> {
        match self.directory {
            Some(directory) => Ok(directory.close().await?),
            None => Ok(()),
        }
    }
}

/// The settings of the caller for AWS.
fn aws(place: &Place, environment: &impl Fn(&str) -> Option<String>) -> Result<AwsSettings> {
    let given = |name: &str| environment(name).filter(|value| !value.is_empty());
    if given("AWS_ACCESS_KEY_ID").is_none() || given("AWS_SECRET_ACCESS_KEY").is_none() {
        bail!(
            "{place} needs credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, as `aws \
             configure export-credentials --format env` prints them"
        );
    }
    if given("AWS_REGION").or_else(|| given("AWS_DEFAULT_REGION")).is_none() {
        bail!("{place} needs a region: set AWS_REGION");
    }
    let values = VARIABLES.into_iter().filter_map(|name| Some((name, given(name)?)));
    let mut variables = Variables::of(values);
    let settings = AwsSettings::read(&mut variables);
    match variables.problems().first() {
        Some(problem) => bail!("{problem}"),
        None => Ok(settings),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_written_as_it_was_read() {
        for text in [".minutehand", "/var/lib/a b", "dynamodb://minutehand-Table-1.x"] {
            assert_eq!(Place::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "s3://b", "dynamodb://", "dynamodb://a/b", "dynamodb://a b"] {
            assert!(Place::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_table_needs_credentials_and_a_region() {
        let place = Place::Table("t".to_owned());
        let read = |names: &[&str]| {
            let set = |name: &str| names.contains(&name).then(|| "x".to_owned());
            aws(&place, &set).map(|it| it.region).map_err(|error| error.to_string())
        };
        let keys = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"];
        assert_eq!(read(&keys), Ok("x".to_owned()));
        for (names, why) in [(&keys[..1], "needs credentials"), (&keys[..2], "set AWS_REGION")] {
            let error = read(names).unwrap_err();
            assert!(error.starts_with("dynamodb://t ") && error.contains(why), "{error}");
        }
    }
}
