//! What can be done with a configuration.

use brimful::{AsKey, Limiter, Nanos};
use brimful_config::{Config, Explanation, Role, Syntax};

use super::{is_harmless, is_in};

/// How many words of a file are tried as keys.
const WORDS: usize = 12;

pub(super) fn check(config: &Config, text: &str) {
    reads_back(config);
    for lint in config.lints() {
        let line = lint.to_string();
        assert!(is_in(text, lint.line(), lint.column()) && !lint.text().is_empty(), "{line}");
        assert!(is_harmless(&line) && !line.contains('\n'), "{line:?}");
    }
    // An accepted file makes a limiter, here a small one.
    let limiter = config.limiter().max_keys(64).max_given(0).max_log_entries(1_024).build();
    let limiter = limiter.unwrap_or_else(|fault| panic!("{fault}\n---\n{}", config.to_toml()));
    let keys = Keys { config, text, limiter: &limiter };
    let words = || text.split(['"', '\'', ' ', '\n']).filter(|word| !word.is_empty());
    for word in words().rev().take(WORDS) {
        keys.check(word, None);
        keys.check((word, 7_u64), None);
    }
    if let Some(tier) = words().find_map(|word| word.strip_prefix("[tiers.")?.strip_suffix(']')) {
        keys.check("user:1", Some(tier));
    }
    keys.check("", Some("a tier"));
    keys.check(7_u64, None);
}

/// It is printed in each syntax as an equal one, which is printed alike.
fn reads_back(config: &Config) {
    let toml = config.to_toml();
    for (printed, syntax) in [(&toml, Syntax::Toml), (&config.to_yaml(), Syntax::Yaml)] {
        match Config::parse(printed, syntax, "printed", None) {
            Ok(again) => {
                assert!(again == *config, "{printed}");
                assert_eq!(again.to_toml(), toml, "{printed}");
            }
            Err(error) => panic!("{error:#}\n---\n{printed}"),
        }
    }
}

struct Keys<'a> {
    config: &'a Config,
    text: &'a str,
    limiter: &'a Limiter,
}

impl Keys<'_> {
    /// The rule that is said to decide is the one that a limiter takes.
    fn check(&self, key: impl AsKey, tier: Option<&str>) {
        let explanation = self.config.explain(&key, tier);
        self.said(&explanation);
        let decides = explanation.decides().expect("a rule that decides");
        self.config.keys().with_key(&key, |key| {
            let policy = self.config.rules().policy_for(key, tier);
            assert_eq!(decides.policy(), policy.name(), "{explanation}");
            assert_eq!(decides.limits().len(), policy.limits().len(), "{explanation}");
            let now = Nanos::from_secs(1);
            let decision = match tier {
                Some(tier) => self.limiter.tier(tier).try_acquire_at(key, 1, now),
                None => self.limiter.try_acquire_at(key, 1, now),
            };
            assert_eq!(decision.is_never(), policy.is_blocked(), "{explanation}");
            assert!(decision.is_allowed() || !policy.is_unlimited(), "{explanation}");
        });
    }

    /// One rule decides, each stands in the file or nowhere, and all is fit for a terminal.
    fn said(&self, explanation: &Explanation) {
        let is_of = |role| explanation.rules().iter().filter(move |rule| rule.role() == role);
        assert_eq!(is_of(Role::Decides).count(), 1, "{explanation}");
        assert!(is_of(Role::OnTrial).all(|rule| rule.is_shadow()), "{explanation}");
        for rule in explanation.rules() {
            let nowhere = rule.line() == 0 && rule.column() == 0 && rule.level() == "default";
            assert!(nowhere || is_in(self.text, rule.line(), rule.column()), "{explanation}");
            assert!(rule.limits().iter().all(|limit| !limit.bound().is_empty()), "{explanation}");
        }
        assert!(is_harmless(&explanation.to_string()), "{explanation}");
    }
}
