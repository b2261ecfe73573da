//! The comparison as a table for people.

use std::fmt;
use std::time::Duration;

use brimful::Limit;

use super::{Admitted, Burst, Comparison, Figures, Part, State, advice, bound};
use crate::civil::Utc;

/// The column in which what is said of an algorithm begins.
const NAME: usize = 16;
/// Characters in a line, where that can be kept.
const PAGE: usize = 100;
/// Columns of figures; the last four are two pairs.
const COLUMNS: usize = 5;

type Cells = [String; COLUMNS];

impl fmt::Display for Comparison {
    /// Several lines, each with its end, of at most 100 characters but for long names and errors.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = "what each algorithm admits at worst, by formula and as measured";
        writeln!(f, "{}: {what}\n", self.limit)?;
        self.table(f)?;
        self.formulas(f)?;
        self.found(f)?;
        f.write_str("\nwhich to choose\n")?;
        for row in &self.rows {
            line(f, row.algorithm.name(), advice(row.algorithm))?;
        }
        Ok(())
    }
}

impl Comparison {
    fn table(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heads = ["per key", "bound", "measured", "bound", "measured"].map(String::from);
        let rows = self.rows.iter().map(|row| row.figures.as_ref().map(cells));
        let rows: Vec<Result<Cells, _>> = rows.collect();
        let mut widths = heads.each_ref().map(String::len);
        for cells in rows.iter().flatten() {
            for (width, cell) in widths.iter_mut().zip(cells) {
                *width = cell.len().max(*width);
            }
        }
        let [state, bound, measured, ..] = widths;
        let pair = bound + 2 + measured;
        let groups = format!("{:>state$}   {:pair$}   in any", "bytes", "at once");
        line(f, "", format_args!("{groups} {}", period(&self.limit)))?;
        line(f, "algorithm", in_columns(&heads, widths))?;
        for (row, cells) in self.rows.iter().zip(rows) {
            let name = row.algorithm.name();
            match cells {
                Ok(cells) => line(f, name, in_columns(&cells, widths))?,
                Err(reason) => line(f, name, format_args!("not possible: {reason}"))?,
            }
        }
        for figures in self.rows.iter().flat_map(|row| &row.figures) {
            let State { slot_bytes, log_entries, log_entry_bytes } = figures.state;
            if log_entries > 0 {
                let log = format!("{log_entry_bytes} x {log_entries} for the entries of the log");
                writeln!(f, "  (bytes: {slot_bytes} for a slot, and {log})")?;
            }
        }
        Ok(())
    }

    fn formulas(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n, c, w) = (self.limit.tokens(), self.limit.capacity(), period(&self.limit));
        writeln!(f, "\nbound, for N = {n}, C = {c}, W = {w}")?;
        writeln!(f, "  (T: from the first request to the last; 1ns at once, W - 1ns in any {w})")?;
        for row in &self.rows {
            line(f, row.algorithm.name(), bound::formula(row.algorithm))?;
        }
        Ok(())
    }

    fn found(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nwhen the most in any {} was measured (UTC)", period(&self.limit))?;
        for row in &self.rows {
            if let Ok(figures) = &row.figures {
                line(f, row.algorithm.name(), place(&figures.in_period.measured))?;
            }
        }
        Ok(())
    }
}

fn line(f: &mut fmt::Formatter<'_>, name: &str, words: impl fmt::Display) -> fmt::Result {
    writeln!(f, "  {name:NAME$}{words}")
}

fn cells(figures: &Figures) -> Cells {
    let Figures { state, at_once, in_period } = figures;
    [
        state.bytes().to_string(),
        at_once.bound.to_string(),
        measured(at_once),
        in_period.bound.to_string(),
        measured(in_period),
    ]
}

/// Figures below each other end in one column; the gaps between pairs are wider.
fn in_columns(cells: &Cells, widths: [usize; COLUMNS]) -> String {
    let gaps = [0, 3, 2, 3, 2];
    let cells = cells.iter().zip(widths).zip(gaps);
    cells.map(|((cell, width), gap)| format!("{cell:>0$}", width + gap)).collect()
}

/// What was measured, or that there may be more of it.
fn measured(admitted: &Admitted) -> String {
    let tokens = admitted.measured.tokens;
    if admitted.complete { tokens.to_string() } else { format!(">={tokens}") }
}

/// The period as it follows `any`: `1min`, `30s`.
fn period(limit: &Limit) -> String {
    // The quota alone is the name of the same limit without its name and burst.
    let plain = Limit::new(limit.tokens(), limit.period());
    let quota = plain.as_ref().map_or_else(|_| limit.name(), Limit::name);
    match quota.split_once('/') {
        Some((_, unit)) => format!("1{unit}"),
        None => quota.rsplit(' ').next().unwrap_or(quota).to_owned(),
    }
}

/// When a burst was admitted; if at two times, also how far apart they are.
fn place(burst: &Burst) -> String {
    let (first, rest) = (&burst.first, burst.rest);
    let times = [first.from, rest.map_or(first.from, |rest| rest.to)].map(|at| Utc(at).to_string());
    // On the first day after the epoch the time of day is enough.
    let clocks = times.each_ref().map(|time| time.strip_prefix("1970-01-01T"));
    let [from, to] = match clocks {
        [Some(from), Some(to)] => [from, to].map(|clock| clock.trim_end_matches('Z').to_owned()),
        _ => times,
    };
    let start = format!("{} at {from}", first.tokens);
    let Some(Part { tokens, from: second, to: last }) = rest else {
        return start;
    };
    let more = if second == last {
        let extent = Duration::from_nanos(burst.extent_ns());
        format!("and {tokens} at {to}: within {extent:?}")
    } else {
        format!("and {tokens} more until {to}")
    };
    let fits = start.len() + more.len() < PAGE - NAME - 4;
    if fits { format!("{start}, {more}") } else { format!("{start},\n  {:NAME$}{more}", "") }
}
