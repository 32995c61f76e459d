//! `context`: lists, chooses, adds and removes contexts.

use clap::{Args, Subcommand};
use serde_json::json;

use super::config::{Auth, Config, Context, check_name};
use super::{GROUP_DEFAULT, SUBSCRIPTION_DEFAULT, token_file};
use crate::environment::Environment;
use crate::failure::{Failure, Result};
use crate::options::Options;
use crate::output::json::Json;
use crate::output::screen::Screen;
use crate::output::table::Table;
use crate::reference::COLLECTION_DEFAULT;

/// The arguments of `context`.
#[derive(Debug, Args)]
pub struct ContextArgs {
    #[command(subcommand)]
    command: ContextCommand,
    #[command(flatten)]
    pub(crate) options: Options,
}

#[derive(Debug, Subcommand)]
enum ContextCommand {
    /// List the contexts
    List,
    /// Show a context: its server, where its token comes from, and what names may leave out
    Show {
        /// Name of the context [default: the current one]
        name: Option<String>,
    },
    /// Make a context the current one
    Use {
        /// Name of the context
        name: String,
    },
    /// Add a context whose token comes from a command; `login` adds one with a token
    Add(AddArgs),
    /// Remove a context and its token
    Remove {
        /// Name of the context
        name: String,
    },
}

#[derive(Debug, Args)]
struct AddArgs {
    /// Name of the context
    name: String,
    /// Command that prints the token, for example 'pass show minutehand'; sh runs it
    #[arg(long, value_name = "COMMAND")]
    token_command: Option<String>,
    /// Collection to use where a name does not give one
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
}

impl ContextArgs {
    pub(crate) fn run(&self, environment: &Environment) -> Result<()> {
        let screen = &Screen::new(&self.options, environment);
        let config = Config::read(environment)?;
        match &self.command {
            ContextCommand::List => self.list(screen, &config),
            ContextCommand::Show { name } => self.show(screen, &config, name.as_deref()),
            ContextCommand::Use { name } => choose(screen, config, name),
            ContextCommand::Add(args) => self.add(screen, config, args),
            ContextCommand::Remove { name } => remove(screen, config, name),
        }
    }

    fn list(&self, screen: &Screen, config: &Config) -> Result<()> {
        let is_current = |name: &str| config.file.current.as_deref() == Some(name);
        let contexts = &config.file.contexts;
        if let Some(json) = Json::wanted(&self.options) {
            let items: Vec<String> = contexts
                .iter()
                .map(|(name, context)| {
                    json!({
                        "name": name, "current": is_current(name), "url": context.url,
                        "subscription": context.subscription, "group": context.group,
                        "collection": context.collection,
                    })
                    .to_string()
                })
                .collect();
            return json.list(screen, items.iter().map(String::as_str));
        }
        let mut table = Table::new(&["name", "current", "collection", "server"]);
        for (name, context) in contexts {
            table.row(vec![
                name.clone(),
                if is_current(name) { "current" } else { "-" }.to_owned(),
                context.collection.clone().unwrap_or_else(|| "-".to_owned()),
                context.url.clone(),
            ]);
        }
        if table.is_empty() {
            screen.hint("no contexts; `minutehand login NAME --server URL` makes one");
            return Ok(());
        }
        screen.table(&table)
    }

    fn show(&self, screen: &Screen, config: &Config, name: Option<&str>) -> Result<()> {
        let Some(name) = name.or(config.file.current.as_deref()) else {
            return Err(Failure::refused("there is no current context")
                .hint("`minutehand context list` lists them, `minutehand login` makes one"));
        };
        let context = config.context(name)?;
        let is_current = config.file.current.as_deref() == Some(name);
        let token = match &context.auth {
            Some(Auth::TokenCommand(command)) => format!("printed by: {command}"),
            Some(Auth::TokenFile(path)) => format!("in {}", path.display()),
            None if token_file(config, name).exists() => {
                format!("in {}", token_file(config, name).display())
            }
            None => "none".to_owned(),
        };
        if let Some(json) = Json::wanted(&self.options) {
            let document = json!({
                "name": name, "current": is_current, "url": context.url, "token": token,
                "ca": context.ca, "subscription": context.subscription, "group": context.group,
                "collection": context.collection,
            });
            return json.document(screen, &document.to_string());
        }
        let current = if is_current { "  current" } else { "" };
        screen.line(&format!("{}{current}", screen.bold(name)))?;
        let ca = context.ca.as_ref().map(|path| path.display().to_string());
        let or = |given: &Option<String>, default: &str| {
            given.clone().unwrap_or_else(|| format!("{default} (the default)"))
        };
        for (title, text) in [
            ("server", context.url.clone()),
            ("token", token),
            ("trusts", ca.unwrap_or_else(|| "the certificates of the system".to_owned())),
            ("subscription", or(&context.subscription, SUBSCRIPTION_DEFAULT)),
            ("group", or(&context.group, GROUP_DEFAULT)),
            ("collection", or(&context.collection, COLLECTION_DEFAULT)),
        ] {
            screen.line(&screen.cut(&format!("{title:<12} {text}")))?;
        }
        Ok(())
    }

    fn add(&self, screen: &Screen, mut config: Config, args: &AddArgs) -> Result<()> {
        check_name(&args.name)?;
        if config.file.contexts.contains_key(&args.name) {
            return Err(Failure::refused(format!("there is a context '{}' already", args.name))
                .hint("remove it first, or choose another name"));
        }
        let Some(server) = &self.options.server else {
            return Err(Failure::refused("the server is missing: give --server URL"));
        };
        let context = Context {
            url: server.to_string(),
            subscription: self.options.subscription.clone(),
            group: self.options.group.clone(),
            collection: args.collection.clone(),
            ca: self.options.ca.clone(),
            auth: args.token_command.clone().map(Auth::TokenCommand),
        };
        config.file.contexts.insert(args.name.clone(), context);
        config.file.current.get_or_insert_with(|| args.name.clone());
        config.write()?;
        screen.note(&format!("added context '{}' for {server}", args.name));
        Ok(())
    }
}

fn choose(screen: &Screen, mut config: Config, name: &str) -> Result<()> {
    let url = config.context(name)?.url.clone();
    config.file.current = Some(name.to_owned());
    config.write()?;
    screen.note(&format!("context '{name}' is current: {url}"));
    Ok(())
}

fn remove(screen: &Screen, mut config: Config, name: &str) -> Result<()> {
    config.context(name)?;
    config.file.contexts.remove(name);
    if config.file.current.as_deref() == Some(name) {
        config.file.current = None;
    }
    config.write()?;
    // The context is gone: a token that cannot be deleted is reported, and used by nothing.
    let path = token_file(&config, name);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(Failure::cannot(format!("delete {}", path.display()))(error));
        }
        _ => screen.note(&format!("removed context '{name}'")),
    }
    Ok(())
}
