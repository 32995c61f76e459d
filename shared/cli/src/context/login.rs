//! `login` and `logout`: a token is checked, and kept in a private file.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::Args;
use minutehand_client::{Client, Limits, ServerUrl};
use zeroize::Zeroizing;

use super::config::{Config, Context, check_name};
use super::{SERVER_DEFAULT, defaults, private_file, token_file};
use crate::environment::Environment;
use crate::failure::{Failure, Result};
use crate::options::Options;
use crate::output::ask;
use crate::output::screen::Screen;

/// The context that `login` makes if it is given no name.
const NAME_DEFAULT: &str = "main";
/// Longer than any token.
const TOKEN_BYTES_MAX: u64 = 16 * 1024;

/// The arguments of `login`.
#[derive(Debug, Args)]
pub struct LoginArgs {
    /// Name of the context to make or to change
    #[arg(default_value = NAME_DEFAULT)]
    name: String,
    /// Read the token from a file, or from standard input with -, instead of asking for it
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Collection to use where a name does not give one
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
    #[command(flatten)]
    pub(crate) options: Options,
}

impl LoginArgs {
    pub(crate) async fn run(self, environment: Environment) -> Result<()> {
        check_name(&self.name)?;
        let screen = &Screen::new(&self.options, &environment);
        let mut config = Config::read(&environment)?;
        let before = config.file.contexts.get(&self.name).cloned();
        let context = self.context(before)?;
        let server = ServerUrl::parse(&context.url).map_err(Failure::refused)?;
        let token = self.token(screen, &server)?;
        check(&context, &server, &token).await?;

        let path = token_file(&config, &self.name);
        config.file.contexts.insert(self.name.clone(), context);
        config.file.current = Some(self.name.clone());
        // The token first: a context whose token is missing would look like one without any.
        private_file::write(&path, &format!("{}\n", *token))?;
        config.write()?;
        screen.note(&format!(
            "logged in to {server}; context '{}' is current, its token is in {}",
            self.name,
            path.display()
        ));
        Ok(())
    }

    /// The context as it becomes: what is given, and what it was.
    fn context(&self, before: Option<Context>) -> Result<Context> {
        let before = before.unwrap_or_default();
        let url = match (&self.options.server, before.url.as_str()) {
            (Some(server), _) => server.to_string(),
            (None, "") => SERVER_DEFAULT.to_owned(),
            (None, url) => url.to_owned(),
        };
        let ca = self.options.ca.as_deref().map(absolute).transpose()?;
        Ok(Context {
            url,
            subscription: self.options.subscription.clone().or(before.subscription),
            group: self.options.group.clone().or(before.group),
            collection: self.collection.clone().or(before.collection),
            ca: ca.or(before.ca),
            auth: None,
        })
    }

    fn token(&self, screen: &Screen, server: &ServerUrl) -> Result<Zeroizing<String>> {
        let text = match self.token_file.as_deref() {
            None => ask::secret(
                screen,
                &format!("Token for {server}"),
                "give --token-file FILE, or --token-file - for standard input",
            )?,
            Some(path) if path == Path::new("-") => {
                let mut text = Zeroizing::new(String::new());
                let read = std::io::stdin().lock().take(TOKEN_BYTES_MAX).read_to_string(&mut text);
                read.map_err(Failure::cannot("read standard input"))?;
                text
            }
            Some(path) => private_file::read(path)?.ok_or_else(|| {
                Failure::failed(format!("cannot read {}: it does not exist", path.display()))
            })?,
        };
        let token = text.trim();
        if token.is_empty() {
            return Err(Failure::refused("the token is empty"));
        }
        Ok(Zeroizing::new(token.to_owned()))
    }
}

/// Checks that the server knows the token.
async fn check(context: &Context, server: &ServerUrl, token: &Zeroizing<String>) -> Result<()> {
    let options = minutehand_client::Options {
        token: Some(token.clone()),
        ca: context.ca.clone(),
        limits: Limits::default(),
    };
    let client = Client::new(server.clone(), &options)?;
    let place = defaults(&Options::default(), context.clone()).place;
    client.collections(&place).next_page().await?;
    Ok(())
}

/// A path that holds in every working directory.
fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path)
        .map_err(|error| Failure::failed(format!("{}: {error}", path.display())))
}

/// The arguments of `logout`.
#[derive(Debug, Args)]
pub struct LogoutArgs {
    /// Context whose token is deleted [default: the current one]
    name: Option<String>,
    #[command(flatten)]
    pub(crate) options: Options,
}

impl LogoutArgs {
    pub(crate) fn run(&self, environment: &Environment) -> Result<()> {
        let screen = Screen::new(&self.options, environment);
        let config = Config::read(environment)?;
        let name = self.name.clone().or_else(|| config.file.current.clone());
        let name = name.ok_or_else(|| Failure::refused("there is no context: nothing to do"))?;
        config.context(&name)?;
        let path = token_file(&config, &name);
        match std::fs::remove_file(&path) {
            Ok(()) => {
                screen.note(&format!("deleted {}; the context '{name}' stays", path.display()));
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                screen.note(&format!("context '{name}' has no token here"));
            }
            Err(error) => {
                return Err(Failure::cannot(format!("delete {}", path.display()))(error));
            }
        }
        Ok(())
    }
}
