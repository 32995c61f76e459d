//! Where a command prints: answers to standard output, everything else to standard error.

use std::io::{self, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use console::{Style, Term, measure_text_width};

use crate::environment::Environment;
use crate::failure::{Failure, Result};
use crate::options::{Color, Options};
use crate::output::table::{Layout, Table, harmless};

/// The narrowest terminal that tables are fitted to.
const WIDTH_MIN: usize = 20;

/// Where a command prints, and how.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a property of its own")]
pub(crate) struct Screen {
    pub(crate) layout: Layout,
    colors: bool,
    pub(crate) quiet: bool,
    pub(crate) ascii: bool,
    /// Whether a person can be asked: input, output and errors are a terminal.
    pub(crate) asks: bool,
    /// What is printed, while it is kept back.
    kept: Arc<Mutex<Option<String>>>,
}

impl Screen {
    pub(crate) fn new(options: &Options, environment: &Environment) -> Self {
        let terminal = Term::stdout();
        let is_terminal = terminal.is_term();
        let layout = if is_terminal {
            let (_, width) = terminal.size();
            Layout::Terminal { width: usize::from(width).max(WIDTH_MIN) }
        } else {
            Layout::Pipe { titles: options.titles }
        };
        let forced = environment.set("CLICOLOR_FORCE").is_some_and(|value| value != "0");
        let dumb = environment.set("TERM").is_some_and(|term| term == "dumb");
        let colors = match options.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                environment.set("NO_COLOR").is_none() && (forced || (is_terminal && !dumb))
            }
        };
        let asks = Term::stderr().is_term() && io::IsTerminal::is_terminal(&io::stdin());
        Self {
            layout,
            colors,
            quiet: options.quiet,
            ascii: options.ascii,
            asks,
            kept: Arc::default(),
        }
    }

    /// Prints nothing.
    pub(crate) fn silent() -> Self {
        let screen = Self {
            layout: Layout::Pipe { titles: false },
            colors: false,
            quiet: true,
            ascii: false,
            asks: false,
            kept: Arc::default(),
        };
        screen.keep();
        screen
    }

    pub(crate) fn is_terminal(&self) -> bool {
        matches!(self.layout, Layout::Terminal { .. })
    }

    /// Keeps back what is printed from now on.
    pub(crate) fn keep(&self) {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(String::new());
    }

    /// What was kept back. What is printed from now on is not.
    pub(crate) fn kept(&self) -> String {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default()
    }

    /// Prints an answer.
    pub(crate) fn print(&self, text: &str) -> Result<()> {
        if let Some(kept) = &mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner) {
            kept.push_str(text);
            return Ok(());
        }
        write(text.as_bytes())
    }

    /// Prints what a target wrote: as it is into a pipe, and on a terminal without what that would act on.
    pub(crate) fn foreign(&self, bytes: &[u8]) -> Result<()> {
        if !self.is_terminal() {
            return write(bytes);
        }
        for line in String::from_utf8_lossy(bytes).lines() {
            self.line(&harmless(line))?;
        }
        Ok(())
    }

    pub(crate) fn line(&self, text: &str) -> Result<()> {
        self.print(&format!("{text}\n"))
    }

    /// Prints sentences, in lines that end between words on a terminal.
    pub(crate) fn sentences(&self, text: &str) -> Result<()> {
        let Layout::Terminal { width } = self.layout else { return self.line(text) };
        let mut line = String::new();
        for word in text.split_whitespace() {
            let is_full = measure_text_width(&line) + 1 + measure_text_width(word) > width;
            if is_full && !line.is_empty() {
                self.line(&std::mem::take(&mut line))?;
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        self.line(&line)
    }

    /// Empties the terminal.
    pub(crate) fn clear(&self) -> Result<()> {
        self.print("\u{1b}[H\u{1b}[2J")
    }

    /// A line that fits the terminal.
    pub(crate) fn cut(&self, line: &str) -> String {
        match self.layout {
            Layout::Terminal { width } => console::truncate_str(line, width, "…").into_owned(),
            Layout::Pipe { .. } => line.to_owned(),
        }
    }

    /// Prints one row of cells: cut to the terminal's width, or separated by tabs.
    pub(crate) fn row(&self, cells: &[String]) -> Result<()> {
        match self.layout {
            Layout::Terminal { .. } => self.line(&self.cut(&cells.join("  "))),
            Layout::Pipe { .. } => self.line(&cells.join("\t")),
        }
    }

    pub(crate) fn table(&self, table: &Table) -> Result<()> {
        self.print(&self.written(table))
    }

    /// A table as it is printed.
    pub(crate) fn written(&self, table: &Table) -> String {
        table.text(self.layout, &|text: &str| self.dim(text))
    }

    /// Says something that is not the answer. On a terminal that is drawn anew it is a part of that.
    pub(crate) fn note(&self, text: &str) {
        if let Some(kept) = &mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner) {
            if self.is_terminal() {
                kept.extend([text, "\n"]);
            }
            return;
        }
        // If standard error cannot be written, there is no other place to report it.
        let _ = writeln!(io::stderr().lock(), "{text}");
    }

    /// Says what to do next, to a person only.
    pub(crate) fn hint(&self, text: &str) {
        if self.is_terminal() && !self.quiet {
            self.note(&self.dim(text));
        }
    }

    pub(crate) fn dim(&self, text: &str) -> String {
        self.styled(text, &Style::new().dim())
    }

    pub(crate) fn bad(&self, text: &str) -> String {
        self.styled(text, &Style::new().red())
    }

    pub(crate) fn good(&self, text: &str) -> String {
        self.styled(text, &Style::new().green())
    }

    pub(crate) fn warn(&self, text: &str) -> String {
        self.styled(text, &Style::new().yellow())
    }

    pub(crate) fn bold(&self, text: &str) -> String {
        self.styled(text, &Style::new().bold())
    }

    fn styled(&self, text: &str, style: &Style) -> String {
        if self.colors && !text.is_empty() {
            style.clone().force_styling(true).apply_to(text).to_string()
        } else {
            text.to_owned()
        }
    }
}

fn write(bytes: &[u8]) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        // The reader, such as `head`, has closed the pipe on purpose: nothing is left to do.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Failure::said(0)),
        Err(error) => Err(Failure::cannot("write the output")(error)),
        Ok(()) => Ok(()),
    }
}
