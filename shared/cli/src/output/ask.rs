//! Questions to a person.

use dialoguer::{Confirm, Password};
use zeroize::Zeroizing;

use crate::failure::{Failure, INTERRUPTED, Result};
use crate::output::screen::Screen;

/// Asks whether to go on; `yes` answers beforehand.
pub(crate) fn confirm(screen: &Screen, question: &str, yes: bool) -> Result<()> {
    if yes {
        return Ok(());
    }
    if !screen.asks {
        return Err(Failure::refused(format!("{question} Add --yes to do it without a terminal.")));
    }
    match Confirm::new().with_prompt(question).default(false).interact() {
        Ok(true) => Ok(()),
        Ok(false) => Err(Failure::new(INTERRUPTED, "nothing was changed")),
        Err(error) => Err(interrupted(&error)),
    }
}

/// Asks for a secret, which is not shown.
pub(crate) fn secret(screen: &Screen, what: &str, otherwise: &str) -> Result<Zeroizing<String>> {
    if !screen.asks {
        return Err(Failure::refused(format!(
            "there is no terminal to ask for {what}: {otherwise}"
        )));
    }
    Password::new()
        .with_prompt(what)
        .interact()
        .map(Zeroizing::new)
        .map_err(|error| interrupted(&error))
}

fn interrupted(error: &dialoguer::Error) -> Failure {
    let dialoguer::Error::IO(error) = error;
    if error.kind() == std::io::ErrorKind::Interrupted {
        Failure::new(INTERRUPTED, "interrupted")
    } else {
        Failure::failed(format!("cannot ask on the terminal: {error}"))
    }
}
