//! Tables: aligned and cut on a terminal, separated by tabs in a pipe.

use console::{measure_text_width, truncate_str};

/// How a table is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Aligned columns, no line longer than the width.
    Terminal { width: usize },
    /// Tabs between the cells, nothing cut.
    Pipe { titles: bool },
}

/// A table. Its last column is the longest, and the one that is cut.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    titles: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

/// The space between two columns.
const GAP: usize = 2;

/// The narrowest that the last column becomes before the table is wider than the terminal.
const LAST_MIN: usize = 8;

impl Table {
    pub(crate) fn new(titles: &[&'static str]) -> Self {
        Self { titles: titles.to_vec(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table as text; `dimmed` styles the titles.
    pub(crate) fn text(&self, layout: Layout, dimmed: &dyn Fn(&str) -> String) -> String {
        match layout {
            Layout::Terminal { width } => self.aligned(width, dimmed),
            Layout::Pipe { titles } => {
                let first = titles.then(|| self.titles.join("\t"));
                let rows = self.rows.iter().map(|row| {
                    let cells: Vec<String> = row.iter().map(|cell| one_line(cell)).collect();
                    cells.join("\t")
                });
                first.into_iter().chain(rows).map(|line| line + "\n").collect()
            }
        }
    }

    fn aligned(&self, width: usize, dimmed: &dyn Fn(&str) -> String) -> String {
        let titles: Vec<String> = self.titles.iter().map(|&title| title.to_owned()).collect();
        let mut widths: Vec<usize> = titles.iter().map(String::len).collect();
        for row in &self.rows {
            for (most, cell) in widths.iter_mut().zip(row) {
                *most = measure_text_width(&one_line(cell)).max(*most);
            }
        }
        let mut text = dimmed(line(&titles, &widths, width).trim_end());
        text.push('\n');
        for row in &self.rows {
            let row: Vec<String> = row.iter().map(|cell| one_line(cell)).collect();
            text.push_str(line(&row, &widths, width).trim_end());
            text.push('\n');
        }
        text
    }
}

fn line(cells: &[String], widths: &[usize], width: usize) -> String {
    let before: usize = widths.iter().rev().skip(1).map(|width| width + GAP).sum();
    let last_max = width.saturating_sub(before).max(LAST_MIN);
    let mut line = String::new();
    for (n, (cell, cell_width)) in cells.iter().zip(widths).enumerate() {
        if n + 1 == widths.len() {
            line.push_str(&truncate_str(cell, last_max, "…"));
        } else {
            let padding = cell_width.saturating_sub(measure_text_width(cell)) + GAP;
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', padding));
        }
    }
    // A terminal that is too narrow for the other columns cuts them, too.
    truncate_str(&line, width, "…").into_owned()
}

/// A cell without line breaks, tabs and other control characters, which a message of a target may
/// contain; the escape sequences of our own colours stay.
fn one_line(cell: &str) -> String {
    let shown = |c: char| if is_control(c) && c != '\u{1b}' { ' ' } else { c };
    cell.chars().map(shown).collect()
}

/// Whether a terminal acts on a character instead of showing it: a control character, or one that
/// changes the direction of text or is invisible. The two that join letters are not among them: scripts
/// and emoji need them.
fn is_control(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// A text from outside without anything that a terminal would act on.
pub(crate) fn harmless(text: &str) -> String {
    text.chars().map(|c| if is_control(c) { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&["job", "state", "fires"]);
        table.row(vec!["a".to_owned(), "on".to_owned(), "every day at 09:00".to_owned()]);
        table.row(vec!["longer".to_owned(), "off".to_owned(), "a\tb\nc".to_owned()]);
        table
    }

    #[test]
    fn a_terminal_gets_aligned_columns_and_no_longer_line() {
        let text = table().text(Layout::Terminal { width: 24 }, &str::to_owned);
        assert_eq!(text, "job     state  fires\na       on     every da…\nlonger  off    a b c\n");
        assert!(table().text(Layout::Terminal { width: 80 }, &str::to_owned).contains("09:00\n"));
    }

    #[test]
    fn a_pipe_gets_tabs_and_everything() {
        let text = table().text(Layout::Pipe { titles: false }, &str::to_owned);
        assert_eq!(text, "a\ton\tevery day at 09:00\nlonger\toff\ta b c\n");
        let text = table().text(Layout::Pipe { titles: true }, &str::to_owned);
        assert!(text.starts_with("job\tstate\tfires\n"));
    }

    #[test]
    fn a_text_of_a_target_cannot_steer_the_terminal() {
        assert_eq!(harmless("a\u{1b}[31mb\r\n"), "a [31mb  ");
        for c in ['\u{9b}', '\u{202e}', '\u{2066}', '\u{200f}', '\u{feff}', '\u{e0041}'] {
            let text = format!("a{c}b");
            assert_eq!((harmless(&text), one_line(&text)), ("a b".to_owned(), "a b".to_owned()));
        }
        for c in ['ä', '中', 'ع', 'א', '👩', '\u{200d}', '\u{200c}', '\u{a0}'] {
            assert_eq!(harmless(&c.to_string()), c.to_string());
        }
    }
}
