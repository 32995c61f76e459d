//! The results of a job's last occurrences, one sign each.

use super::screen::Screen;

/// The signs of the last occurrences, of at most so many, the newest last. A pipe gets the letters of
/// the server; so does a terminal with `--ascii`.
pub(crate) fn marks(screen: &Screen, letters: &str, max: usize) -> String {
    if !screen.is_terminal() {
        return letters.to_owned();
    }
    let skipped = letters.chars().count().saturating_sub(max);
    letters.chars().skip(skipped).map(|letter| sign(screen, letter)).collect()
}

/// The sign of one result.
pub(crate) fn sign(screen: &Screen, letter: char) -> String {
    let own = letter.to_string();
    let (shown, styled): (&str, fn(&Screen, &str) -> String) = match letter {
        'f' | 'e' => ("┃", Screen::bad),
        'r' | 'l' => (own.as_str(), Screen::warn),
        's' => ("▯", Screen::dim),
        _ => ("▮", Screen::good),
    };
    styled(screen, if screen.ascii { &own } else { shown })
}
