//! The token of a context.

use std::process::{Command, Stdio};

use zeroize::Zeroizing;

use super::config::{Auth, Config, Context};
use super::{private_file, token_file};
use crate::failure::{Failure, Result};

/// The token of a context; `None` if it has none, for a server without authentication.
pub(super) fn of_context(
    name: &str,
    context: &Context,
    config: &Config,
) -> Result<Option<Zeroizing<String>>> {
    match &context.auth {
        Some(Auth::TokenCommand(command)) => of_command(name, command).map(Some),
        Some(Auth::TokenFile(path)) => match private_file::read(path)? {
            Some(token) => Ok(Some(token)),
            None => Err(Failure::refused(format!(
                "the token file of context '{name}', {}, does not exist",
                path.display()
            ))),
        },
        None => private_file::read(&token_file(config, name)),
    }
}

fn of_command(name: &str, command: &str) -> Result<Zeroizing<String>> {
    let output = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::inherit())
        .stderr(Stdio::inherit())
        .output()
        .map_err(Failure::cannot("run the token command"))?;
    let text = Zeroizing::new(String::from_utf8_lossy(&output.stdout).into_owned());
    let token = text.trim();
    if !output.status.success() || token.is_empty() {
        let how = output.status;
        return Err(Failure::failed(format!(
            "the token command of context '{name}' gave no token ({how})"
        )));
    }
    Ok(Zeroizing::new(token.to_owned()))
}
