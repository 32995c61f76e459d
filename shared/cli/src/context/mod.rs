//! Which server a command talks to, with which token, and what names leave out.
//!
//! In this order: options, the environment, the context, and what `minutehand serve` keeps in the
//! working directory. A token that a context keeps goes to the server of that context only.

pub(crate) mod command;
pub(crate) mod config;
pub(crate) mod login;
pub(crate) mod private_file;
mod token;

use std::path::{Path, PathBuf};

use config::{Config, Context};
use minutehand_client::{Client, GroupPath, Limits, ServerUrl};

use crate::environment::Environment;
use crate::failure::{Failure, Result};
use crate::options::Options;
use crate::reference::Defaults;

/// The server that is used if none is named: `serve` with its defaults.
pub(crate) const SERVER_DEFAULT: &str = "http://127.0.0.1:7070";
const SERVER_VARIABLE: &str = "MINUTEHAND_URL";
const TOKEN_VARIABLE: &str = "MINUTEHAND_TOKEN";
const CONTEXT_VARIABLE: &str = "MINUTEHAND_CONTEXT";
/// What `serve` keeps its token in, in the directory in which it was started.
const LOCAL_TOKEN: &str = ".minutehand/token";
const SUBSCRIPTION_DEFAULT: &str = "me";
const GROUP_DEFAULT: &str = "dev";

/// A server, and what names leave out.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) client: Client,
    pub(crate) defaults: Defaults,
    /// The name of the context that is in force.
    pub(crate) context: Option<String>,
}

impl Session {
    /// Finds out which server to talk to. Nothing is sent.
    pub(crate) fn open(
        options: &Options,
        environment: &Environment,
        limits: Limits,
    ) -> Result<Self> {
        let config = Config::read(environment)?;
        let chosen = chosen(options, environment, &config)?;
        let context = chosen.as_ref().map(|(context, _)| context);
        let server = server(options, environment, context)?;
        let kept_for = context.and_then(|context| ServerUrl::parse(&context.url).ok());
        let token = match (environment.set(TOKEN_VARIABLE), &chosen) {
            (Some(token), _) => Some(token.into()),
            (None, Some((context, name))) if kept_for.as_ref() == Some(&server) => {
                token::of_context(name, context, &config)?
            }
            (None, _) if server.is_loopback() => private_file::read(Path::new(LOCAL_TOKEN))?,
            (None, _) => None,
        };
        let ca = options.ca.clone();
        let ca = ca.or_else(|| context.and_then(|context| context.ca.clone()));
        let client = Client::new(server, &minutehand_client::Options { token, ca, limits })?;
        let (context, name) = chosen.unzip();
        let defaults = defaults(options, context.unwrap_or_default());
        Ok(Self { client, defaults, context: name })
    }
}

/// The context that is in force, if there is one, and its name.
fn chosen(
    options: &Options,
    environment: &Environment,
    config: &Config,
) -> Result<Option<(Context, String)>> {
    let named = options.context.clone().or_else(|| environment.set(CONTEXT_VARIABLE));
    let name = named.or_else(|| config.file.current.clone());
    name.map(|name| Ok((config.context(&name)?.clone(), name))).transpose()
}

fn server(
    options: &Options,
    environment: &Environment,
    context: Option<&Context>,
) -> Result<ServerUrl> {
    if let Some(server) = &options.server {
        return Ok(server.clone());
    }
    let (from, text) = match (environment.set(SERVER_VARIABLE), context) {
        (Some(text), _) => (SERVER_VARIABLE, text),
        (None, Some(context)) => ("the context's url", context.url.clone()),
        (None, None) => ("the default", SERVER_DEFAULT.to_owned()),
    };
    ServerUrl::parse(&text).map_err(|why| Failure::refused(format!("{from}: {why}")))
}

fn defaults(options: &Options, context: Context) -> Defaults {
    let or = |given: &Option<String>, context: Option<String>, default: &str| {
        given.clone().or(context).unwrap_or_else(|| default.to_owned())
    };
    let place = GroupPath {
        subscription: or(&options.subscription, context.subscription, SUBSCRIPTION_DEFAULT),
        group: or(&options.group, context.group, GROUP_DEFAULT),
    };
    Defaults { place, collection: context.collection }
}

/// The file in which `login` keeps the token of a context.
fn token_file(config: &Config, name: &str) -> PathBuf {
    config.dir.join("tokens").join(name)
}
