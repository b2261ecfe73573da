//! The table for people.

use std::fmt;

use super::SideBySide;
use crate::civil::Utc;
use crate::summary::Summary;
use crate::summary::bound;
use crate::summary::text::{counted, percent, shown};

/// The column in which figures begin.
const LABEL: usize = 18;

impl fmt::Display for SideBySide {
    /// Several lines, each with its end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // There is a bucket for every limit, so there is a first.
        let Some(log) = self.summaries.first() else { return Ok(()) };
        self.figures(f)?;
        log.log(f)?;
        self.limits(f)?;
        self.top(f)
    }
}

impl SideBySide {
    fn figures(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.algorithms().map(|algorithm| algorithm.name()).collect();
        let row = |f: &mut fmt::Formatter<'_>, label: &str, cells: &[String]| {
            line(f, &format!("{label:LABEL$}"), cells, &names)
        };
        let of = |figure: &dyn Fn(&Summary) -> String| -> Vec<String> {
            self.summaries.iter().map(figure).collect()
        };
        let any = |figure: &dyn Fn(&Summary) -> u64| self.summaries.iter().any(|s| figure(s) > 0);
        let heads: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        row(f, "", &heads)?;
        row(f, "requests", &of(&|s| s.requests.to_string()))?;
        row(f, "keys", &of(&|s| s.keys.to_string()))?;
        row(f, "admitted", &of(&|s| s.admitted.to_string()))?;
        row(f, "denied", &of(&|s| s.denied.to_string()))?;
        row(f, "  share", &of(&|s| percent(s.denied, s.requests)))?;
        if any(&|s| s.denied_never) {
            row(f, "  never", &of(&|s| s.denied_never.to_string()))?;
        }
        row(f, "keys denied", &of(&|s| s.denied_keys.to_string()))?;
        if any(&|s| s.peeks) {
            row(f, "peeks", &of(&|s| s.peeks.to_string()))?;
        }
        if any(&|s| s.refunds) {
            row(f, "refunds", &of(&|s| s.refunds.to_string()))?;
            row(f, "  tokens", &of(&|s| s.refunded_tokens.to_string()))?;
        }
        // Which second it is, and whether it is whole, is the same for all.
        if let Some(log) = self.summaries.first()
            && let Some(busiest) = log.busiest
        {
            let (at, requests) = (Utc(busiest.at), counted(busiest.requests, "request"));
            writeln!(f, "{:LABEL$}{at}: {requests}", "busiest second")?;
            if log.busiest_reopened > 0 {
                let reopened = counted(log.busiest_reopened, "second");
                writeln!(f, "{:LABEL$}{reopened} may be counted in parts", "")?;
            }
            let part = |of: fn(crate::Second) -> u64, s: &Summary| s.busiest.map_or(0, of);
            row(f, "  admitted", &of(&|s| part(|second| second.admitted, s).to_string()))?;
            row(f, "  denied", &of(&|s| part(|second| second.denied, s).to_string()))?;
        }
        row(f, "store bytes", &of(&|s| s.store.bytes.to_string()))?;
        row(f, "  slots occupied", &of(&|s| s.store.occupied.to_string()))?;
        row(f, "  evicted in debt", &of(&|s| s.store.evicted_forced.to_string()))?;
        if any(&|s| s.store.store_full) {
            row(f, "  no place for", &of(&|s| s.store.store_full.to_string()))?;
        }
        if any(&|s| s.store.shared) {
            row(f, "  shared state", &of(&|s| s.store.shared.to_string()))?;
        }
        row(f, "  log entries", &of(&|s| s.store.log_entries.to_string()))
    }

    fn limits(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\nlimits\n")?;
        for limit in self.summaries.iter().flat_map(Summary::limits) {
            writeln!(f, "  {}\n    {}", bound::spec(limit), bound::of(limit))?;
        }
        if self.has_burst {
            f.write_str("  Only the token bucket has a burst; the others admit N per period.\n")?;
        }
        for left_out in &self.left_out {
            writeln!(f, "  {} is left out: {}", left_out.algorithm, left_out.reason)?;
        }
        Ok(())
    }

    fn top(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.top_denied.is_empty() {
            // Whether none was denied or none was asked for, the figures above say.
            return Ok(());
        }
        f.write_str("\ntop denied keys\n")?;
        let keys: Vec<String> = self.top_denied.iter().map(|row| shown(&row.key)).collect();
        let key_width = keys.iter().map(|key| key.chars().count()).max().unwrap_or(0).max(16);
        let names: Vec<&str> =
            ["requests"].into_iter().chain(self.algorithms().map(|a| a.name())).collect();
        let heads: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        line(f, &format!("  {:key_width$}", "key"), &heads, &names)?;
        for (key, row) in keys.iter().zip(&self.top_denied) {
            let figures = [&row.requests].into_iter().chain(&row.denied);
            let cells: Vec<String> = figures.map(u64::to_string).collect();
            line(f, &format!("  {key:key_width$}"), &cells, &names)?;
        }
        Ok(())
    }
}

/// A label and a cell under each of the heads.
fn line(f: &mut fmt::Formatter<'_>, label: &str, cells: &[String], heads: &[&str]) -> fmt::Result {
    f.write_str(label)?;
    for (place, (cell, head)) in cells.iter().zip(heads).enumerate() {
        let gap = if place == 0 { "" } else { "  " };
        // Room for 99,999,999,999 under the shortest head.
        let width = head.len().max(11);
        write!(f, "{gap}{cell:>width$}")?;
    }
    f.write_str("\n")
}
