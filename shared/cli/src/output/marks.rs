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
    let shown = match letter {
        _ if screen.ascii => letter.to_string(),
        'f' | 'e' => "┃".to_owned(),
        's' => "▯".to_owned(),
        'r' | 'l' => letter.to_string(),
        _ => "▮".to_owned(),
    };
    match letter {
        'f' | 'e' => screen.bad(&shown),
        'r' | 'l' => screen.warn(&shown),
        's' => screen.dim(&shown),
        _ => screen.good(&shown),
    }
}
