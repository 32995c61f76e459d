//! The options that every command for a server has.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use minutehand_client::ServerUrl;

const HEADING: &str = "Options of every command";

const SERVER_HELP: &str = "The server; or set MINUTEHAND_URL [default: http://127.0.0.1:7070]";

/// The options that every command for a server has.
#[derive(Debug, Clone, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct Options {
    /// Context to use; `minutehand context list` lists them
    #[arg(long, global = true, value_name = "NAME", help_heading = HEADING)]
    pub(crate) context: Option<String>,
    /// The server.
    #[arg(long, global = true, value_name = "URL", help = SERVER_HELP, help_heading = HEADING,
          value_parser = ServerUrl::parse)]
    pub(crate) server: Option<ServerUrl>,
    /// Certificates to trust instead of the system's, as PEM
    #[arg(long, global = true, value_name = "FILE", help_heading = HEADING)]
    pub(crate) ca: Option<PathBuf>,
    /// Subscription, where a name does not give one
    #[arg(long, global = true, value_name = "NAME", help_heading = HEADING)]
    pub(crate) subscription: Option<String>,
    /// Resource group, where a name does not give one
    #[arg(long, global = true, value_name = "NAME", help_heading = HEADING)]
    pub(crate) group: Option<String>,
    /// Print JSON as the server answered it; with names, only these fields
    #[arg(long, global = true, value_name = "FIELD,…", num_args = 0..=1, require_equals = true,
          default_missing_value = "", help_heading = HEADING)]
    pub(crate) json: Option<String>,
    /// Like --json, with one item of a list on each line
    #[arg(long, global = true, help_heading = HEADING)]
    pub(crate) jsonl: bool,
    /// Print column titles in a pipe, too
    #[arg(long, global = true, help_heading = HEADING)]
    pub(crate) titles: bool,
    /// Show times in UTC instead of the job's time zone
    #[arg(long, global = true, help_heading = HEADING)]
    pub(crate) utc: bool,
    /// Use letters instead of Unicode symbols
    #[arg(long, global = true, help_heading = HEADING)]
    pub(crate) ascii: bool,
    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = HEADING)]
    pub(crate) color: Color,
    /// Print no hints and no progress
    #[arg(long, short, global = true, help_heading = HEADING)]
    pub(crate) quiet: bool,
}

/// When to print colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set
    #[value(help = "On a terminal, unless NO_COLOR is set")]
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Reads one of a few words.
pub fn one_of<T, const N: usize>(words: [(&'static str, T); N]) -> impl TypedValueParser<Value = T>
where
    T: Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(words.clone().map(|(word, _)| word)).try_map(move |given| {
        let found = words.iter().find(|(word, _)| *word == given);
        found.map(|(_, meant)| meant.clone()).ok_or("not one of the words")
    })
}
