//! Questions to a person.

use dialoguer::{Confirm, Input, Password, Select};
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
    answered(question, false)
}

/// Asks whether to do something that can be undone.
pub(crate) fn agree(question: &str) -> Result<()> {
    answered(question, true)
}

fn answered(question: &str, default: bool) -> Result<()> {
    match Confirm::new().with_prompt(question).default(default).interact() {
        Ok(true) => Ok(()),
        Ok(false) => Err(Failure::new(INTERRUPTED, "nothing was changed")),
        Err(error) => Err(interrupted(&error)),
    }
}

/// Refuses to ask without a terminal.
pub(crate) fn needs_terminal(screen: &Screen, ask: &str, otherwise: &str) -> Result<()> {
    if screen.asks {
        return Ok(());
    }
    Err(Failure::refused(format!("there is no terminal to {ask}: {otherwise}")))
}

/// Asks for a text until it is right. An empty answer is the default.
pub(crate) fn text(
    prompt: &str,
    default: Option<&str>,
    check: impl Fn(&str) -> Result<()>,
) -> Result<String> {
    let says = |failure: Failure| match failure.hint {
        Some(hint) => format!("{}; {hint}", failure.message),
        None => failure.message,
    };
    let mut input = Input::new()
        .with_prompt(prompt)
        .allow_empty(default == Some(""))
        .validate_with(|text: &String| check(text.trim()).map_err(says));
    if let Some(default) = default.filter(|default| !default.is_empty()) {
        input = input.default(default.to_owned());
    }
    let text: String = input.interact_text().map_err(|error| interrupted(&error))?;
    Ok(text.trim().to_owned())
}

/// Asks for one of several; the first is the default.
pub(crate) fn choice(prompt: &str, among: &[&str]) -> Result<usize> {
    let select = Select::new().with_prompt(prompt).items(among).default(0);
    select.interact().map_err(|error| interrupted(&error))
}

/// Asks for a secret, which is not shown.
pub(crate) fn secret(screen: &Screen, what: &str, otherwise: &str) -> Result<Zeroizing<String>> {
    needs_terminal(screen, &format!("ask for {what}"), otherwise)?;
    let secret = Password::new().with_prompt(what).interact();
    secret.map(Zeroizing::new).map_err(|error| interrupted(&error))
}

fn interrupted(error: &dialoguer::Error) -> Failure {
    let dialoguer::Error::IO(error) = error;
    if error.kind() == std::io::ErrorKind::Interrupted {
        Failure::new(INTERRUPTED, "interrupted")
    } else {
        Failure::cannot("ask on the terminal")(error)
    }
}
