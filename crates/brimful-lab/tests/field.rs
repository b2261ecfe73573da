//! Faults that people met in the output of other limiters, by kind; the numbers of a case are a
//! row, under its id in `brimful-testkit/data/field-cases.jsonl`.

use brimful::{Algorithm, Limit};
use brimful_lab::{Replay, policy};

/// The lines that a summary has under `limits`.
fn limits_shown(specs: &[&str]) -> Vec<String> {
    let replay = Replay::new(policy(specs, None).unwrap());
    let summary =
        replay.run(&b"{\"at\": 1, \"key\": \"k\"}\n"[..], |_| Ok(())).unwrap().to_string();
    let lines = summary.lines().skip_while(|line| *line != "limits").skip(1);
    lines.take_while(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// A summary never claims that a limit is zero, however slow it is: each number in it is a whole
/// one, and at least 1, in the unit in which the limit was given.
#[test]
fn a_slow_limit_is_not_shown_as_zero() {
    let rows = [
        (25, "1 per 10min", "1 per 10min"),
        (25, "6/h burst 1", "6/h"),
        (25, "1 per 600s", "1 per 10min"),
        (25, "1/day", "1/day"),
        (25, "1 per 90min burst 3", "1 per 90min"),
        (25, "1/year", "1/year"),
        (25, "3/month", "3/month"),
    ];
    for (case, spec, quota) in rows {
        let shown = limits_shown(&[spec]);
        assert_eq!(shown.len(), 2, "case {case}: {shown:?}");
        assert!(shown[0].trim().starts_with(quota), "case {case}: {shown:?}");
        assert!(shown[1].contains(&format!("T x {quota} ")), "case {case}: {shown:?}");
        no_zero(&shown, case);
    }
    for algorithm in Algorithm::ALL {
        let limit: Limit = format!("1 per 10min {algorithm}").parse().unwrap();
        no_zero(&limits_shown(&[&limit.to_string()]), 25);
    }
}

fn no_zero(lines: &[String], case: u32) {
    let numbers = |line: &String| -> Vec<u64> {
        let digits = line.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
        digits.map(|digits| digits.parse().unwrap()).collect()
    };
    for line in lines {
        let numbers = numbers(line);
        assert!(!numbers.is_empty() && !numbers.contains(&0), "case {case}: {line}");
        assert!(!line.contains('.'), "case {case}: a rounded number in {line}");
    }
}
