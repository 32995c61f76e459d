//! The table.

/// Figures, each beside its bar.
#[derive(Default)]
pub(crate) struct Figures(Vec<[String; 4]>);

impl Figures {
    /// Adds a row, and prints it at once.
    pub(crate) fn add(
        &mut self,
        what: &str,
        figure: impl Into<String>,
        bar: impl Into<String>,
        aim: impl Into<String>,
    ) {
        let row = [what.to_owned(), figure.into(), bar.into(), aim.into()];
        eprintln!("{}: {}", row[0], row[1]);
        self.0.push(row);
    }

    /// Prints the table.
    pub(crate) fn print(self) {
        let head = ["what", "measured", "bar", "aim"].map(str::to_owned);
        let rule = ["---"; 4].map(str::to_owned);
        let rows: Vec<[String; 4]> = [head, rule].into_iter().chain(self.0).collect();
        let width = |n: usize| rows.iter().map(|row| row[n].chars().count()).max().unwrap_or(0);
        let widths = [width(0), width(1), width(2), width(3)];
        println!();
        for row in &rows {
            let [what, figure, bar, aim] = row;
            let [a, b, c, d] = widths;
            println!("| {what:<a$} | {figure:<b$} | {bar:<c$} | {aim:<d$} |");
        }
    }
}

/// The value at this fraction of sorted values.
pub(crate) fn part(sorted: &[f64], per_mille: usize) -> f64 {
    let last = sorted.len().saturating_sub(1);
    sorted.get((sorted.len() * per_mille / 1_000).min(last)).copied().unwrap_or(f64::NAN)
}
