//! Any text where a limit, a policy, a name or a pattern should be.

use std::time::Duration;

use brimful::{Algorithm, Error, Limit, Policy, Rules};

/// Reads `text` as each of the things that people write, and whatever can be read back again.
pub(super) fn check(text: &str) {
    limit(text);
    policy(text);
    names(text);
    patterns(text);
    if let Ok(algorithm) = text.parse::<Algorithm>() {
        assert_eq!(algorithm.to_string(), text);
    }
}

/// A limit that can be read is within its ranges, and is printed as it can be read again.
fn limit(text: &str) {
    let limit = match text.parse::<Limit>() {
        Ok(limit) => limit,
        Err(fault) => return explained(&fault, text),
    };
    let printed = limit.to_string();
    let again: Limit = printed.parse().unwrap_or_else(|fault| panic!("{text:?}: {fault}"));
    assert_eq!(again, limit, "{text:?} is printed as {printed:?}");
    assert_eq!(again.to_string(), printed, "{text:?}");
    in_range(&limit, text);
    rebuilt(&limit, text);
    // Spaces around it mean nothing, and neither do those around its signs.
    let spaced = format!(" {} ", printed.replace('/', " / ").replace(':', " : "));
    if limit.name().contains('/') {
        return;
    }
    assert_eq!(spaced.parse::<Limit>().as_ref(), Ok(&limit), "{spaced:?}");
}

fn in_range(limit: &Limit, text: &str) {
    let log = limit.chosen_algorithm() == Algorithm::SlidingLog;
    let most = if log { Limit::MAX_LOG_TOKENS } else { Limit::MAX_TOKENS };
    assert!((1..=most).contains(&limit.tokens()), "{text:?}");
    assert!((1..=Limit::MAX_TOKENS).contains(&limit.capacity()), "{text:?}");
    assert!(!limit.period().is_zero() && limit.period() <= Limit::MAX_PERIOD, "{text:?}");
    assert!(u128::from(limit.tokens()) <= limit.period().as_nanos(), "{text:?}");
    let bursts = limit.capacity() != limit.tokens();
    assert!(!bursts || limit.chosen_algorithm() == Algorithm::TokenBucket, "{text:?}");
    assert!(!limit.name().is_empty(), "{text:?}");
    assert!(limit.name().bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{text:?}");
}

/// What was read is what the constructors make of its parts.
fn rebuilt(limit: &Limit, text: &str) {
    let plain = Limit::new(limit.tokens(), limit.period()).expect("within its ranges");
    let built = match limit.chosen_algorithm() {
        Algorithm::TokenBucket => plain.burst(limit.capacity()),
        other => plain.algorithm(other),
    };
    let built = built.expect("within its ranges");
    let named = limit.to_string().contains(':');
    let built = if named { built.named(limit.name()).expect("a good name") } else { built };
    assert_eq!(&built, limit, "{text:?}");
}

/// Lines or commas as the borders between limits.
fn policy(text: &str) {
    for border in ['\n', ','] {
        let policy = match Policy::parse(text.split(border)) {
            Ok(policy) => policy,
            Err(fault) => {
                explained(&fault, text);
                continue;
            }
        };
        if policy.is_unlimited() || policy.is_blocked() {
            assert!(policy.limits().is_empty() && text.split(border).count() == 1, "{text:?}");
            continue;
        }
        assert!((1..=Policy::MAX_LIMITS).contains(&policy.limits().len()), "{text:?}");
        let printed: Vec<String> = policy.limits().iter().map(ToString::to_string).collect();
        let again = Policy::parse(printed.iter().map(String::as_str));
        assert_eq!(again.as_ref(), Ok(&policy), "{text:?} is printed as {printed:?}");
    }
}

/// A name is good for limits, policies and tiers alike, and a limit that has it can be read again.
fn names(text: &str) {
    let limit = Limit::new(7, Duration::from_secs(3)).expect("a limit");
    let policy = Policy::from(limit.clone()).named(text);
    let rules = Rules::builder().default(limit.clone()).tier(text, limit.clone()).build();
    match limit.named(text) {
        Ok(limit) => {
            assert_eq!(limit.name(), text);
            assert_eq!(limit.to_string().parse().as_ref(), Ok(&limit), "{text:?}");
            assert_eq!(policy.map(|policy| policy.name().to_owned()).as_deref(), Ok(text));
            assert!(rules.is_ok(), "{text:?}");
        }
        Err(fault) => {
            explained(&fault, text);
            assert_eq!(fault.field(), Some("limit name"));
            assert!(policy.is_err() && rules.is_err(), "{text:?}");
        }
    }
}

/// A pattern that can be read can be given once. (That a name is a good tier says nothing of it.)
fn patterns(text: &str) {
    let policies = [3, 4].map(|tokens| Limit::per_second(tokens).expect("a limit"));
    let [first, second] = policies;
    let once = Rules::builder().default(Policy::blocked()).pattern(text, first);
    match once.clone().build() {
        Ok(_) => {
            let twice = once.pattern(text, second).build();
            assert!(twice.is_err_and(|fault| fault.is_conflict()), "{text:?}");
        }
        Err(fault) => {
            assert!(fault.is_syntax(), "{text:?}: {fault}");
            explained(&fault, text);
        }
    }
}

/// A fault is of one kind, says something in each of its forms, and a caret points at something.
fn explained(fault: &Error, text: &str) {
    let kinds = [fault.is_range(), fault.is_syntax(), fault.is_conflict()];
    assert_eq!(kinds.iter().filter(|kind| **kind).count(), 1, "{text:?}: {fault}");
    assert_eq!(fault.field().is_some(), fault.is_range(), "{text:?}: {fault}");
    let (short, long) = (fault.to_string(), format!("{fault:#}"));
    assert!(!short.is_empty() && !long.is_empty(), "{text:?}");
    assert_eq!(fault.is_syntax(), short != long, "{text:?}: {short}");
    if fault.is_syntax() {
        assert!(long.contains('^'), "{text:?}: {long}");
    }
}
