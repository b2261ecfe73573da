//! Patterns against a brute-force oracle over small alphabets: what matches, which of two is the
//! more specific, and which pairs are ambiguous. The oracle reads the documented rules one by one
//! and shares nothing with the library.

use std::cmp::Ordering;
use std::collections::HashSet;

use brimful::{Limit, Policy, Rules};
use brimful_testkit::trace::SplitMix64;

/// For every prefix there are texts that have it and texts that do not, so that patterns which
/// match different keys do so here.
const TEXTS: [&str; 9] = ["", "a", "b", "ab", "aa", "ac", "ba", "abc", "c"];
const PARTS: [&str; 7] = ["a", "b", "ab", "a*", "ab*", "b*", "*"];

fn policy(n: usize) -> Policy {
    Policy::from(Limit::per_second(1 + u64::try_from(n).unwrap()).unwrap())
}

/// All lists of up to `most` of the `texts`, joined as keys and patterns are.
fn lists(texts: &[&str], least: usize, most: usize) -> Vec<String> {
    let mut all: Vec<Vec<&str>> = vec![vec![]];
    let mut done = Vec::new();
    for length in 0..=most {
        if length >= least {
            done.extend(all.iter().map(|list| list.join(":")));
        }
        all = all
            .iter()
            .flat_map(|list| texts.iter().map(move |text| [list.as_slice(), &[*text]].concat()))
            .collect();
    }
    done
}

fn keys(most: usize) -> Vec<String> {
    lists(&TEXTS, 1, most)
}

fn patterns(most: usize) -> Vec<String> {
    let closed = lists(&PARTS, 1, most);
    let open = closed.iter().map(|pattern| format!("{pattern}:**"));
    open.chain(["**".to_owned()]).chain(closed.clone()).collect()
}

/// Whether a pattern matches a key, read from left to right.
fn matches(pattern: &[&str], key: &[&str]) -> bool {
    match (pattern, key) {
        (["**"], _) | ([], []) => true,
        ([], _) | (_, []) => false,
        ([part, pattern @ ..], [text, key @ ..]) => {
            let fits = match part.strip_suffix('*') {
                Some(prefix) => text.starts_with(prefix),
                None => part == text,
            };
            fits && matches(pattern, key)
        }
    }
}

/// Which of two parts at one place comes first; the end of a pattern is `None`.
fn compare_parts(one: Option<&str>, other: Option<&str>) -> Ordering {
    let rank = |part: Option<&str>| match part {
        Some("**") => (0, 0),
        // A longer prefix comes before a shorter one; `*` is the shortest.
        Some(part) if part.ends_with('*') => (1, part.len()),
        // What it ends with and what is written out never meet on one key.
        Some(_) | None => (2, 0),
    };
    rank(one).cmp(&rank(other))
}

/// Which of two patterns is the more specific: by the first part in which they differ.
fn compare(one: &str, other: &str) -> Ordering {
    let (one, other) = (split(one), split(other));
    let places = 0..one.len().max(other.len());
    let at = |pattern: &[&str], place: usize| pattern.get(place).map(|part| (*part).to_owned());
    let differs = places.into_iter().find(|place| at(&one, *place) != at(&other, *place));
    differs.map_or(Ordering::Equal, |place| {
        compare_parts(at(&one, place).as_deref(), at(&other, place).as_deref())
    })
}

fn split(text: &str) -> Vec<&str> {
    text.split(':').collect()
}

/// The keys that each pattern matches, as their numbers.
fn matched(patterns: &[String], keys: &[String]) -> Vec<HashSet<usize>> {
    let keys: Vec<Vec<&str>> = keys.iter().map(|key| split(key)).collect();
    let of = |pattern: &String| {
        let pattern = split(pattern);
        (0..keys.len()).filter(|key| matches(&pattern, &keys[*key])).collect()
    };
    patterns.iter().map(of).collect()
}

/// Every pair of patterns of up to two segments, on every key of up to three: the pair is refused
/// exactly when there is a key that both match and neither is the more specific, and else the more
/// specific one decides. What matches fewer keys is the more specific.
#[test]
fn every_pair_of_small_patterns() {
    let (patterns, keys) = (patterns(2), keys(3));
    let sets = matched(&patterns, &keys);
    let (mut meeting, mut refused, mut nested) = (0, 0, 0);
    for (i, one) in patterns.iter().enumerate() {
        for (j, other) in patterns.iter().enumerate() {
            let both: Vec<usize> = sets[i].intersection(&sets[j]).copied().collect();
            let order = compare(one, other);
            let builder = Rules::builder().default(policy(2));
            let built = builder.pattern(one, policy(0)).pattern(other, policy(1)).build();
            if !both.is_empty() && order == Ordering::Equal {
                let fault = built.unwrap_err();
                let names = format!("the pattern `{other}` is given twice");
                assert!(fault.is_conflict() && fault.to_string().contains(&names), "{fault}");
                refused += 1;
                continue;
            }
            let rules = built.unwrap_or_else(|fault| panic!("{one} {other}: {fault}"));
            let winner = policy(if order == Ordering::Greater { 0 } else { 1 });
            for key in &both {
                let found = rules.policy_for(&keys[*key], None);
                assert_eq!(*found, winner, "{one} {other} on {}", keys[*key]);
                meeting += 1;
            }
            if sets[i].is_subset(&sets[j]) && sets[i].len() < sets[j].len() {
                assert_eq!(order, Ordering::Greater, "{one} matches fewer keys than {other}");
                nested += 1;
            }
        }
    }
    println!(
        "pairs: {} x {0}, {refused} refused; {meeting} decisions where both match; {nested} nested",
        patterns.len()
    );
    // Only what is written twice is ambiguous: the order is total.
    assert_eq!(refused, patterns.len());
    assert!(meeting > 50_000 && nested > 1_000);
}

/// Random sets of patterns of up to three segments, on every key of up to four: the oracle's most
/// specific one decides, also when the walk must go back for it.
#[test]
fn sets_of_patterns() {
    let (patterns, mut keys) = (patterns(3), keys(3));
    keys.extend(lists(&["", "a", "abc", "b"], 4, 4));
    let sets = matched(&patterns, &keys);
    let mut rng = SplitMix64::new(7);
    let (mut matched, mut unmatched) = (0, 0);
    for round in 0..300 {
        let size = 1 + rng.below(if round % 10 == 0 { 400 } else { 30 });
        let mut chosen: Vec<usize> =
            (0..size).map(|_| usize::try_from(rng.below(patterns.len() as u64)).unwrap()).collect();
        chosen.sort_unstable();
        chosen.dedup();
        let add = |builder: brimful::RulesBuilder, pattern: &usize| {
            builder.pattern(&patterns[*pattern], policy(*pattern))
        };
        let begin = Rules::builder().default(policy(patterns.len()));
        let rules = chosen.iter().fold(begin, add).build().unwrap();
        for (number, key) in keys.iter().enumerate() {
            let matching = chosen.iter().filter(|pattern| sets[**pattern].contains(&number));
            let best = matching.max_by(|one, other| compare(&patterns[**one], &patterns[**other]));
            let expected = policy(best.copied().unwrap_or(patterns.len()));
            assert_eq!(*rules.policy_for(key, None), expected, "{key}");
            match best {
                Some(_) => matched += 1,
                None => unmatched += 1,
            }
        }
    }
    println!("sets: {matched} keys matched, {unmatched} fell through to the default");
}
