//! Which rule a key gets: the most specific one, whichever key was seen first.

use brimful::{Limiter, Rules};

use crate::{limit, secs};

/// Admitted of ten calls, and of fourteen after another key's: by the most specific pattern.
#[test]
fn the_most_specific_rule_decides_whoever_comes_first() {
    // Case 181: five a second for every path, ten for one of them.
    let rules = Rules::builder().default(limit("5/s")).pattern("*", limit("5 per 1s"));
    let rules = rules.pattern("/values", limit("10 per 1s")).build().expect("two patterns");
    let limiter = Limiter::new(rules).expect("a small limiter");
    for path in ["/values", "/others"] {
        let calls = (0..20).filter(|_| limiter.try_acquire_at(path, 1, secs(0)).is_allowed());
        let expected = if path == "/values" { 10 } else { 5 };
        assert_eq!(calls.count(), expected, "case 181: {path}");
    }

    // Case 183: the 13th creation is refused, whether or not a sign-in came first.
    for first in [None, Some("sign-in"), Some("other"), Some("create")] {
        let rules = Rules::builder()
            .default(limit("60/min"))
            .pattern("*:sign-in", limit("1000/min"))
            .pattern("*:create", limit("12/min"));
        let limiter = Limiter::new(rules.build().expect("two patterns")).expect("a small limiter");
        let mut admitted = 0;
        if let Some(path) = first {
            let decision = limiter.try_acquire_at(("client", path), 1, secs(0));
            admitted += u32::from(path == "create" && decision.is_allowed());
        }
        for _ in 0..13 {
            let decision = limiter.try_acquire_at(("client", "create"), 1, secs(0));
            admitted += u32::from(decision.is_allowed());
        }
        assert_eq!(admitted, 12, "case 183: after {first:?}");
    }
}
