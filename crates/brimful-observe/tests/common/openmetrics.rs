//! Reads the text format of OpenMetrics 1.0, as far as counters and gauges of whole numbers need it, and strictly.

use std::collections::{BTreeMap, BTreeSet};

/// Labels, sorted by name, and the number.
pub type Series = BTreeMap<BTreeMap<String, String>, u64>;

#[derive(Debug, Default)]
pub struct Family {
    pub kind: String,
    pub help: String,
    pub unit: Option<String>,
    /// By labels.
    pub series: Series,
}

/// The families by name, or what is wrong.
pub fn read(text: &str) -> Result<BTreeMap<String, Family>, String> {
    let body = text.strip_suffix("# EOF\n").ok_or("it does not end with `# EOF`")?;
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let mut current = String::new();
    for line in body.split_terminator('\n') {
        let fault = |what: &str| format!("{what}: `{line}`");
        if let Some(rest) = line.strip_prefix("# ") {
            let (what, rest) = rest.split_once(' ').ok_or_else(|| fault("no name"))?;
            let (name, rest) = rest.split_once(' ').ok_or_else(|| fault("no value"))?;
            if name != current {
                // Its lines stand together.
                if families.contains_key(name) {
                    return Err(fault("a family in two places"));
                }
                current = name.into();
            }
            let family = families.entry(name.into()).or_default();
            if !family.series.is_empty() {
                return Err(fault("a description after numbers"));
            }
            let place = match what {
                "HELP" => &mut family.help,
                "TYPE" => &mut family.kind,
                "UNIT" if name.ends_with(&format!("_{rest}")) => {
                    family.unit.get_or_insert_default()
                }
                _ => return Err(fault("a comment of no kind")),
            };
            if !std::mem::replace(place, rest.into()).is_empty() {
                return Err(fault("said twice"));
            }
            continue;
        }
        let family = families.get_mut(&current).ok_or_else(|| fault("a number of no family"))?;
        let suffix = match &*family.kind {
            "counter" => "_total",
            "gauge" => "",
            _ => return Err(fault("a number without a type")),
        };
        let rest = line.strip_prefix(&current).and_then(|rest| rest.strip_prefix(suffix));
        let rest = rest.ok_or_else(|| fault("a number of another family"))?;
        let (labels, number) = labels(rest).map_err(|what| fault(&what))?;
        let number = number.strip_prefix(' ').ok_or_else(|| fault("no space"))?;
        let number = number.parse().map_err(|_| fault("not a whole number"))?;
        if family.series.insert(labels, number).is_some() {
            return Err(fault("a series twice"));
        }
    }
    check(&families)?;
    Ok(families)
}

/// Names, help, and the same labels in all series of a family.
fn check(families: &BTreeMap<String, Family>) -> Result<(), String> {
    for (name, family) in families {
        if !is_name(name) || family.help.is_empty() || family.series.is_empty() {
            return Err(format!("{name}: {family:?}"));
        }
        let names = family.series.keys().map(|labels| labels.keys().collect::<Vec<_>>());
        if names.collect::<BTreeSet<_>>().len() != 1 {
            return Err(format!("{name}: series with different labels"));
        }
    }
    Ok(())
}

fn is_name(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_lowercase() || c == '_';
    name.starts_with(is_letter) && name.chars().all(|c| is_letter(c) || c.is_ascii_digit())
}

/// `{name="value",...}` if there is one, and what comes behind it.
fn labels(text: &str) -> Result<(BTreeMap<String, String>, &str), String> {
    let mut labels = BTreeMap::new();
    let Some(mut rest) = text.strip_prefix('{') else { return Ok((labels, text)) };
    loop {
        let (name, quoted) = rest.split_once("=\"").ok_or("no label")?;
        if !is_name(name) {
            return Err(format!("`{name}` is not a label"));
        }
        let mut value = String::new();
        let mut letters = quoted.char_indices();
        let end = loop {
            match letters.next().ok_or("no end of a value")? {
                (end, '"') => break end,
                (_, '\\') => value.push(match letters.next() {
                    Some((_, 'n')) => '\n',
                    Some((_, letter @ ('"' | '\\'))) => letter,
                    other => return Err(format!("an escape of no kind: {other:?}")),
                }),
                (_, letter) => value.push(letter),
            }
        };
        if labels.insert(name.into(), value).is_some() {
            return Err(format!("`{name}` twice"));
        }
        rest = &quoted[end + 1..];
        match rest.as_bytes().first() {
            Some(b',') => rest = &rest[1..],
            Some(b'}') => return Ok((labels, &rest[1..])),
            _ => return Err("labels without an end".into()),
        }
    }
}
