//! `man`: the manual, one page for each command.

use std::path::PathBuf;

use clap::{Args, Command};

use crate::failure::{Failure, Result};

/// The arguments of `man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Directory for the pages; it has to exist
    dir: PathBuf,
}

impl ManArgs {
    pub(crate) fn run(&self, program: Command) -> Result<()> {
        let doing = format!("write into {}", self.dir.display());
        clap_mangen::generate_to(program, &self.dir).map_err(Failure::cannot(doing))
    }
}
