//! Markdown of chats: what others wrote must not become markup.

/// What may begin or end markup.
const MARKUP: &str = "\\*_~`|>[]()#<";

/// Writes a character with a backslash before it if it could be markup.
pub(super) fn escape(c: char, text: &mut String) {
    if MARKUP.contains(c) {
        text.push('\\');
    }
    text.push(c);
}
