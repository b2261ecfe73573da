//! The summary as a table for people.

use std::fmt;

use brimful::Policy;

use super::{Summary, bound, per_mille};
use crate::civil::Utc;
use crate::event::printable;
use crate::policies::OfPolicy;

/// The column in which figures begin.
const LABEL: usize = 18;
/// Characters of a key that are shown.
const KEY: usize = 45;

impl fmt::Display for Summary {
    /// Several lines, each with its end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.counts(f)?;
        self.log(f)?;
        match &self.policy {
            Some(policy) => limits(f, policy)?,
            None => {
                policies(f, "policies", "denied", &self.policies)?;
                if !self.on_trial.is_empty() {
                    policies(f, "on trial", "would deny", &self.on_trial)?;
                }
            }
        }
        self.top(f)?;
        self.store(f)
    }
}

impl Summary {
    fn counts(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Numbers end in one column.
        let width = self.requests.max(self.keys).to_string().len();
        row(f, "requests", format_args!("{:>width$}", self.requests))?;
        row(f, "keys", format_args!("{:>width$}", self.keys))?;
        let share = |part| percent(part, self.requests);
        for (label, part) in [("admitted", self.admitted), ("denied", self.denied)] {
            row(f, label, format_args!("{part:>width$}  {:>6}", share(part)))?;
        }
        if self.denied_never > 0 {
            let never = self.denied_never;
            row(f, "  never", format_args!("{never:>width$}  no wait would have helped"))?;
        }
        if self.peeks > 0 {
            row(f, "peeks", format_args!("{:>width$}", self.peeks))?;
        }
        if self.refunds > 0 {
            let (refunds, tokens) = (self.refunds, self.refunded_tokens);
            row(f, "refunds", format_args!("{refunds:>width$}  gave {tokens} back"))?;
        }
        match self.busiest {
            None => row(f, "busiest second", "none"),
            Some(busiest) => {
                let (at, all) = (Utc(busiest.at), counted(busiest.requests, "request"));
                let (admitted, denied) = (busiest.admitted, busiest.denied);
                row(
                    f,
                    "busiest second",
                    format_args!("{at}: {all}, {admitted} admitted, {denied} denied"),
                )?;
                if self.busiest_reopened > 0 {
                    let reopened = counted(self.busiest_reopened, "second");
                    row(f, "", format_args!("{reopened} may be counted in parts"))?;
                }
                Ok(())
            }
        }
    }

    pub(crate) fn log(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\nlog\n")?;
        let format = self.format.map_or("", |format| format.name());
        row(f, "  lines", format_args!("{} {format}", self.lines).to_string().trim_end())?;
        if let Some((first, last)) = self.span {
            row(f, "  from", Utc(first))?;
            row(f, "  to", Utc(last))?;
        }
        let (lines, most) = (self.disorder.lines, Seconds(self.disorder.most_ns));
        if lines == 0 {
            row(f, "  out of order", lines)?;
        } else {
            row(f, "  out of order", format_args!("{lines}, by at most {most}"))?;
            let (late, buffer) = (self.disorder.late, Seconds(self.reorder_ns));
            row(f, "  too late", format_args!("{late} for the buffer of {buffer}"))?;
        }
        if self.disorder.released_early > 0 {
            let early = counted(self.disorder.released_early, "event");
            row(f, "  buffer full", format_args!("{early} let go early"))?;
        }
        row(f, "  bad lines", self.bad_lines.count)
    }

    fn top(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.top_denied.is_empty() && self.denied_keys > 0 {
            // None was asked for.
            return Ok(());
        }
        f.write_str("\ntop denied keys\n")?;
        if self.top_denied.is_empty() {
            return f.write_str("  none\n");
        }
        let rows = self.top_denied.iter().map(|row| (shown(&row.key), row.denied, row.requests));
        table(f, ["key", "denied"], &rows.collect::<Vec<_>>())
    }

    fn store(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let store = &self.store;
        f.write_str("\nstore\n")?;
        row(f, "  max keys", store.max_keys)?;
        row(f, "  slots", format_args!("{}, {} occupied", store.slots, store.occupied))?;
        row(f, "  bytes", store.bytes)?;
        let (lossless, forced) = (store.evicted_lossless, store.evicted_forced);
        row(f, "  evictions", format_args!("{lossless} lossless, {forced} forced"))?;
        row(f, "  forgiven", counted(store.forgiven_tokens, "token"))?;
        if store.store_full > 0 {
            row(f, "  no place for", counted(store.store_full, "request"))?;
        }
        if store.shared > 0 {
            row(f, "  shared state", counted(store.shared, "request"))?;
        }
        if store.max_log_entries > 0 {
            let (held, most) = (store.log_entries, store.max_log_entries);
            row(f, "  log entries", format_args!("{held} of at most {most}"))?;
        }
        Ok(())
    }
}

fn limits(f: &mut fmt::Formatter<'_>, policy: &Policy) -> fmt::Result {
    f.write_str("\nlimits\n")?;
    if let Some((word, words)) = bound::of_word(policy) {
        return row(f, &format!("  {word}"), words);
    }
    for limit in policy.limits() {
        let spec = bound::spec(limit);
        writeln!(f, "  {spec}\n    {}", bound::of(limit))?;
    }
    Ok(())
}

fn policies(
    f: &mut fmt::Formatter<'_>,
    title: &str,
    denied: &str,
    rows: &[OfPolicy],
) -> fmt::Result {
    writeln!(f, "\n{title}")?;
    if rows.is_empty() {
        return f.write_str("  none\n");
    }
    let rows = rows.iter().map(|row| (shown(&row.policy), row.denied, row.requests));
    table(f, ["policy", denied], &rows.collect::<Vec<_>>())
}

/// Rows of a name, how many were denied, and of how many requests, with their share.
fn table(
    f: &mut fmt::Formatter<'_>,
    [name, denied]: [&str; 2],
    rows: &[(String, u64, u64)],
) -> fmt::Result {
    let widest = |least: usize, of: &dyn Fn(&(String, u64, u64)) -> usize| {
        rows.iter().map(of).fold(least, usize::max)
    };
    let digits = |number: u64| number.to_string().len();
    let name_width = widest(name.len(), &|row| row.0.chars().count());
    let denied_width = widest(denied.len(), &|row| digits(row.1));
    let (all, share) = ("requests", "share");
    let all_width = widest(all.len(), &|row| digits(row.2));
    writeln!(f, "  {name:name_width$}  {denied:>denied_width$}  {all:>all_width$}  {share:>6}")?;
    for (name, denied, all) in rows {
        let share = percent(*denied, *all);
        writeln!(
            f,
            "  {name:name_width$}  {denied:>denied_width$}  {all:>all_width$}  {share:>6}"
        )?;
    }
    Ok(())
}

fn row(f: &mut fmt::Formatter<'_>, label: &str, figures: impl fmt::Display) -> fmt::Result {
    writeln!(f, "{label:LABEL$}{figures}")
}

/// `1 request`, `2 requests`.
pub(crate) fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// A share with one decimal. Neither a few are shown as none nor most as all.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    match per_mille(part, whole) {
        0 if part > 0 => "<0.1%".into(),
        1000 if part < whole => ">99.9%".into(),
        share => format!("{}.{}%", share / 10, share % 10),
    }
}

/// A key as it is shown: without control characters, and cut where it is long.
pub(crate) fn shown(key: &str) -> String {
    let key = printable(key);
    match key.char_indices().nth(KEY) {
        None => key.into_owned(),
        Some(_) => key.chars().take(KEY - 1).chain(['…']).collect(),
    }
}

/// Nanoseconds as seconds, exactly: `59s`, `0.25s`.
struct Seconds(u64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SECOND: u64 = 1_000_000_000;
        write!(f, "{}", self.0 / SECOND)?;
        match self.0 % SECOND {
            0 => f.write_str("s"),
            below => write!(f, ".{}s", format!("{below:09}").trim_end_matches('0')),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_one_decimal_and_hide_nothing() {
        for (part, whole, text) in [
            (0, 0, "0.0%"),
            (0, 9, "0.0%"),
            (9, 9, "100.0%"),
            (1, 8, "12.5%"),
            (1, 3, "33.3%"),
            (2, 3, "66.7%"),
            (1, 2000, "0.1%"),
            (1, 2001, "<0.1%"),
            (1999, 2000, ">99.9%"),
            (u64::MAX - 1, u64::MAX, ">99.9%"),
            (u64::MAX / 2, u64::MAX, "50.0%"),
        ] {
            assert_eq!(percent(part, whole), text, "{part} of {whole}");
        }
    }

    #[test]
    fn keys_are_fit_for_a_terminal() {
        assert_eq!(shown("198.18.0.1"), "198.18.0.1");
        assert_eq!(shown("a\u{1b}[2Jb\n"), "a\\u{1b}[2Jb\\n");
        assert_eq!(shown(&"é".repeat(45)), "é".repeat(45));
        assert_eq!(shown(&"é".repeat(46)), "é".repeat(44) + "…");
    }

    #[test]
    fn seconds_are_exact() {
        let shown = |ns| Seconds(ns).to_string();
        assert_eq!((shown(0), shown(59_000_000_000)), ("0s".into(), "59s".into()));
        assert_eq!((shown(250_000_000), shown(1)), ("0.25s".into(), "0.000000001s".into()));
    }
}
