//! Prints a configuration so that it can be read again, in both syntaxes.

use std::collections::HashMap;

use crate::config::Config;
use crate::key::OwnedKey;
use crate::model::{Grant, Model, Rule, Said, Target};

impl Config {
    /// The configuration in TOML, without comments, with the keys of files of members written out. Read
    /// again it is equal to this one.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut printed = String::new();
        for section in sections(&self.model, " = ") {
            let path: Vec<String> = section.path.iter().map(|name| bare_or_quoted(name)).collect();
            let path = path.join(".");
            let header = if section.is_item { format!("[[{path}]]") } else { format!("[{path}]") };
            printed.push_str(if printed.is_empty() { "" } else { "\n" });
            printed.push_str(&format!("{header}\n"));
            for (name, value) in &section.fields {
                printed.push_str(&format!("{name} = {value}\n"));
            }
        }
        printed
    }

    /// The same in YAML.
    #[must_use]
    pub fn to_yaml(&self) -> String {
        let mut printed = String::new();
        let mut open: Vec<String> = Vec::new();
        for section in sections(&self.model, ": ") {
            let same = open.iter().zip(&section.path).take_while(|(a, b)| a == b).count();
            for (depth, name) in section.path.iter().enumerate().skip(same) {
                let indent = "  ".repeat(depth);
                printed.push_str(&format!("{indent}{}:\n", bare_or_quoted(name)));
            }
            let indent = "  ".repeat(section.path.len());
            let mut lead = if section.is_item { format!("{indent}- ") } else { indent.clone() };
            let next = if section.is_item { format!("{indent}  ") } else { indent };
            for (name, value) in &section.fields {
                printed.push_str(&format!("{lead}{name}: {value}\n"));
                lead.clone_from(&next);
            }
            open = section.path;
        }
        printed
    }
}

/// Fields that belong together. A value is written alike in TOML and in YAML, but for what stands
/// between the name and the value of a field.
struct Section {
    path: Vec<String>,
    /// Whether it is an item of a list.
    is_item: bool,
    fields: Vec<(&'static str, String)>,
}

/// The sections in the order in which they are read. `is` stands between a name and a value.
fn sections(model: &Model, is: &str) -> Vec<Section> {
    let mut all = Vec::new();
    settings(model, &mut all);
    for named in &model.policies {
        let path = vec!["policies".to_owned(), named.name.clone()];
        let fields = named.grant.as_ref().map(grant).unwrap_or_default();
        all.push(Section { path, is_item: false, fields });
    }
    let mut members: HashMap<&str, Vec<String>> = HashMap::new();
    for member in &model.members {
        members.entry(&member.tier).or_default().push(key(&member.key, is));
    }
    let mut counts: HashMap<&Target, usize> = HashMap::new();
    for rule in &model.rules {
        *counts.entry(&rule.target).or_default() += 1;
    }
    for rule in &model.rules {
        let twice = counts.get(&rule.target).is_some_and(|count| *count > 1);
        all.push(section(rule, twice, &mut members, is));
    }
    all
}

fn settings(model: &Model, all: &mut Vec<Section>) {
    let store = &model.store;
    let numbers = [
        ("max_keys", store.max_keys),
        ("max_log_entries", store.max_log_entries),
        ("max_limits", store.max_limits),
        ("max_given", store.max_given),
    ];
    let mut fields: Vec<_> = numbers
        .into_iter()
        .filter_map(|(name, number)| Some((name, number?.to_string())))
        .collect();
    if let Some(overflow) = store.overflow {
        fields.push(("overflow", quoted(crate::read::overflow_name(overflow))));
    }
    let keys = model.keys;
    let flags = [("trim", keys.trim), ("fold_case", keys.fold_case), ("nfc", keys.nfc)];
    let on = flags.into_iter().filter(|(_, on)| *on).map(|(name, _)| (name, "true".to_owned()));
    let cost = model.max_cost.map(|cost| ("max_cost", cost.to_string()));
    let named =
        [("store", fields), ("keys", on.collect()), ("requests", cost.into_iter().collect())];
    for (name, fields) in named {
        if !fields.is_empty() {
            all.push(Section { path: vec![name.to_owned()], is_item: false, fields });
        }
    }
}

fn section(
    rule: &Rule,
    twice: bool,
    members: &mut HashMap<&str, Vec<String>>,
    is: &str,
) -> Section {
    let mut fields = Vec::new();
    let (path, is_item) = match &rule.target {
        Target::Default => (vec!["default".to_owned()], twice),
        Target::Tier(name) => (vec!["tiers".to_owned(), name.clone()], twice),
        Target::Exact(exact) => {
            fields.push(("key", key(exact, is)));
            (vec!["exact".to_owned()], true)
        }
        Target::Pattern(pattern) => {
            fields.push(("match", quoted(pattern)));
            (vec!["pattern".to_owned()], true)
        }
    };
    fields.extend(grant(&rule.grant));
    // Those of both rules of a tier stand in the first.
    if let Target::Tier(name) = &rule.target
        && let Some(keys) = members.remove(name.as_str())
    {
        fields.push(("members", format!("[{}]", keys.join(", "))));
    }
    Section { path, is_item, fields }
}

fn grant(grant: &Grant) -> Vec<(&'static str, String)> {
    let said = match &grant.said {
        Said::Name(name) => ("policy", quoted(name)),
        Said::Unlimited => ("unlimited", "true".to_owned()),
        Said::Blocked => ("blocked", "true".to_owned()),
        Said::Limits => {
            let limits: Vec<String> =
                grant.policy.limits().iter().map(|limit| quoted(&limit.to_string())).collect();
            match &*limits {
                [only] => ("limit", only.clone()),
                several => ("limits", format!("[{}]", several.join(", "))),
            }
        }
    };
    let shadow = grant.shadow.then(|| ("shadow", "true".to_owned()));
    std::iter::once(said).chain(shadow).collect()
}

/// A key as a value, with `is` between the name and the value of a field.
pub(crate) fn key(key: &OwnedKey, is: &str) -> String {
    match key {
        OwnedKey::Text(text) => quoted(text),
        OwnedKey::Integer(number) => number.to_string(),
        OwnedKey::Ip(prefix) => format!("{{ ip{is}\"{prefix}\" }}"),
        OwnedKey::Parts(parts) => {
            let parts: Vec<String> = parts.iter().map(|part| self::key(part, is)).collect();
            format!("[{}]", parts.join(", "))
        }
    }
}

/// A name that TOML and YAML both take for text without quotes: letters, then digits and `_` too.
fn bare_or_quoted(name: &str) -> String {
    let words = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];
    let bare = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !words.iter().any(|word| name.eq_ignore_ascii_case(word));
    if bare { name.to_owned() } else { quoted(name) }
}

/// A text in the quotes of TOML, which are YAML's too.
pub(crate) fn quoted(text: &str) -> String {
    let mut written = String::with_capacity(text.len().saturating_add(2));
    written.push('"');
    for character in text.chars() {
        match character {
            '"' => written.push_str("\\\""),
            '\\' => written.push_str("\\\\"),
            '\n' => written.push_str("\\n"),
            '\t' => written.push_str("\\t"),
            '\r' => written.push_str("\\r"),
            '\0'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{feff}'
            | '\u{fffe}'
            | '\u{ffff}' => {
                written.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            other => written.push(other),
        }
    }
    written.push('"');
    written
}
