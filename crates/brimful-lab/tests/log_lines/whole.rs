//! A log in a replay: every line counts once, and the summary adds up.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use brimful_lab::{Event, Format, Op, Summary, combined, jsonl};

use super::decided::{Row, as_the_model};
use super::told::Told;
use super::{is_harmless, texts};

const SECOND: u64 = 1_000_000_000;

pub(super) fn check(told: &Told, log: &[u8]) {
    let mut rows: Vec<Row> = Vec::new();
    let read = told.replay.clone().run(log, |decided| {
        rows.push(Row::of(decided));
        Ok(())
    });
    match &read {
        Err(fault) => {
            texts::explained(fault);
            assert!(!fault.is_limit() && !fault.is_write(), "{fault}");
        }
        Ok(summary) => {
            adds_up(told, summary, &rows);
            is_shown(&summary.to_string(), &summary.to_json());
            as_the_model(&told.policy, &rows, &summary.store);
            // What is packed has other lines.
            if !log.starts_with(b"\x1f\x8b") {
                counts_lines(told, summary, &rows, log);
            }
        }
    }
    side_by_side(told, read.ok().as_ref(), log);
}

/// A table for people has nothing that harms a terminal; what is for machines is JSON.
fn is_shown(table: &str, json: &str) {
    assert!(is_harmless(table), "{table:?}");
    assert!(!json.contains('\n') && serde_json::from_str::<serde::de::IgnoredAny>(json).is_ok());
}

fn adds_up(told: &Told, summary: &Summary, rows: &[Row]) {
    let count = |wanted: &dyn Fn(&&Row) -> bool| rows.iter().filter(wanted).count() as u64;
    let requests = count(&|row| row.op == Op::Acquire);
    let denied = count(&|row| row.op == Op::Acquire && !row.outcome.allowed);
    assert_eq!((summary.requests, summary.denied), (requests, denied));
    assert_eq!(summary.admitted, requests - denied);
    let never = count(&|row| row.op == Op::Acquire && row.outcome.never);
    assert_eq!(summary.denied_never, never);
    assert_eq!(summary.peeks, count(&|row| row.op == Op::Peek));
    assert_eq!(summary.refunds, count(&|row| row.op == Op::Refund));
    let refunded: u128 = rows.iter().filter_map(|row| row.refunded).map(u128::from).sum();
    assert_eq!(summary.refunded_tokens, refunded);
    let keys: BTreeSet<&str> = rows.iter().map(|row| &*row.key).collect();
    assert_eq!(summary.keys, keys.len() as u64);
    let times = || rows.iter().map(|row| row.at);
    assert_eq!(summary.span, times().min().zip(times().max()));
    let costly = count(&|row| row.op == Op::Acquire && row.cost > 0);
    assert_eq!(summary.store.admitted + summary.store.denied, costly);
    busiest(summary, rows);
    top(told, summary, rows);
}

fn busiest(summary: &Summary, rows: &[Row]) {
    let mut seconds: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.op == Op::Acquire) {
        let second = seconds.entry(row.at.as_nanos() / SECOND).or_default();
        second.0 += 1;
        second.1 += u64::from(row.outcome.allowed);
    }
    assert_eq!(summary.busiest.is_some(), !seconds.is_empty());
    let most = seconds.values().map(|(requests, _)| *requests).max();
    let first = seconds.iter().find(|(_, (requests, _))| Some(*requests) == most);
    if let Some((busiest, (at, (requests, admitted)))) = summary.busiest.zip(first) {
        assert_eq!(busiest.at.as_nanos(), at * SECOND);
        assert_eq!((busiest.requests, busiest.admitted), (*requests, *admitted));
        assert_eq!(busiest.denied, requests - admitted);
    }
}

fn top(told: &Told, summary: &Summary, rows: &[Row]) {
    let mut denied: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.op == Op::Acquire) {
        let counts = denied.entry(&row.key).or_default();
        counts.0 += u64::from(!row.outcome.allowed);
        counts.1 += 1;
    }
    denied.retain(|_, (count, _)| *count > 0);
    assert_eq!(summary.denied_keys, denied.len() as u64);
    assert_eq!(summary.top_denied.len() as u64, summary.denied_keys.min(told.top));
    for row in &summary.top_denied {
        assert_eq!(denied.get(&*row.key), Some(&(row.denied, row.requests)));
    }
}

/// Every line is an event, is bad, or is blank; and where nothing was said about its fields, it is
/// what it is by itself. (A row of CSV may have several lines.)
fn counts_lines(told: &Told, summary: &Summary, rows: &[Row], log: &[u8]) {
    let text = log.strip_prefix(b"\xef\xbb\xbf").unwrap_or(log);
    let mut lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    let lines: Vec<&[u8]> =
        lines.into_iter().map(|line| line.strip_suffix(b"\r").unwrap_or(line)).collect();
    assert_eq!(summary.lines, lines.len() as u64);
    let is_blank = |line: &&[u8]| line.trim_ascii().is_empty();
    let numbers: BTreeSet<u64> = rows.iter().map(|row| row.line).collect();
    assert_eq!(numbers.len(), rows.len(), "a line was decided twice");
    assert!(numbers.iter().all(|line| (1..=summary.lines).contains(line)));
    let bad = &summary.bad_lines;
    assert_eq!(bad.first.len() as u64, bad.count.min(5));
    assert!(bad.first.iter().all(|bad| !numbers.contains(&bad.line) && is_harmless(&bad.reason)));
    let counted = rows.len() as u64 + bad.count;
    let blank = lines.iter().copied().filter(|line| is_blank(line)).count() as u64;
    let first = lines.iter().copied().find(|line| !is_blank(line));
    let format = first.map(|line| told.format.unwrap_or(Format::of(line)));
    assert_eq!(summary.format, format);
    match format {
        None => assert_eq!(counted, 0),
        // There is a header; and what is blank may be a part of a row.
        Some(Format::Csv) => assert!(counted < summary.lines),
        Some(_) => assert_eq!(counted + blank, summary.lines),
    }
    in_order(told, summary, rows);
    if let Some(format) = format.filter(|format| told.is_usual && *format != Format::Csv) {
        let by_itself = |row: &Row| {
            let line = lines.get(usize::try_from(row.line).ok()?.checked_sub(1)?)?;
            let read = if format == Format::Jsonl { jsonl::parse } else { combined::parse };
            read(line).ok()
        };
        for row in rows {
            let event = Event { at: row.at, key: (&*row.key).into(), cost: row.cost, op: row.op };
            assert_eq!(by_itself(row), Some(event));
        }
    }
}

/// Events come in the order of their times as far as the buffer reaches.
fn in_order(told: &Told, summary: &Summary, rows: &[Row]) {
    let Some(format) = summary.format else { return };
    let span = told.span.unwrap_or(format.usual_reorder());
    let disorder = summary.disorder;
    if span == Duration::ZERO {
        assert!(rows.is_sorted_by_key(|row| row.line));
    } else if disorder.late == 0 && disorder.released_early == 0 {
        assert!(rows.is_sorted_by_key(|row| (row.at, row.line)));
    }
    if rows.iter().map(|row| row.line).is_sorted() {
        return;
    }
    assert!(disorder.lines > 0 && disorder.most_ns > 0, "{disorder:?}");
}

/// Under all algorithms at once, each summary is that of a replay of its own.
fn side_by_side(told: &Told, alone: Option<&Summary>, log: &[u8]) {
    match told.replay.clone().run_all(log) {
        Err(fault) => texts::explained(&fault),
        Ok(all) => {
            is_shown(&all.to_string(), &all.to_json());
            let alone = alone.expect("the log can be read");
            let same = all.summaries.iter().find(|summary| summary.policy == alone.policy);
            assert_eq!(same, Some(alone));
        }
    }
}
