//! The form of keys: the same however often it is taken, and the same for what people take for the same.

use brimful_config::{Config, Keys, Syntax};
use proptest::prelude::*;

fn keys(fields: &str) -> Keys {
    let text = format!("default.unlimited = true\n[keys]\n{fields}\n");
    Config::parse(&text, Syntax::Toml, "limits.toml", None).unwrap().keys()
}

#[test]
fn each_step_does_its_own() {
    let cases = [
        ("", " Ä\u{308} ", " Ä\u{308} "),
        ("trim = true", "\u{2003} a b\t\n", "a b"),
        ("fold_case = true", "STRASSE Straße Σς", "strasse strasse σσ"),
        ("nfc = true", "A\u{308}", "Ä"),
        ("nfc = true\nfold_case = true", "A\u{308} \u{1e9e}", "ä ss"),
        ("trim = true\nfold_case = true", " Partner ", "partner"),
    ];
    for (fields, text, expected) in cases {
        assert_eq!(keys(fields).normalize(text), expected, "{fields}");
    }
    assert!(!keys("trim = false").is_on());
    assert!(keys("nfc = true").is_on());
}

/// Every character alone, and the forms of every combination of steps.
#[test]
fn the_form_of_a_form_is_itself_for_every_character() {
    for steps in 0..8_u32 {
        let step = |bit: u32, name| {
            if steps & bit > 0 { format!("{name} = true\n") } else { String::new() }
        };
        let keys = keys(&(step(1, "trim") + &step(2, "fold_case") + &step(4, "nfc")));
        for character in (0..=u32::from(char::MAX)).filter_map(char::from_u32) {
            let text = character.to_string();
            let form = keys.normalize(&text);
            assert_eq!(keys.normalize(&form), form, "{steps} U+{:04X}", u32::from(character));
        }
    }
}

proptest! {
    #[test]
    fn the_form_of_a_form_is_itself(text in "[ aA\u{e4}\u{c4}\u{308}\u{345}\u{3a3}\u{1f80}\u{df}\u{323}\u{1e9e}\u{130}\u{307}*:]{0,8}") {
        for fields in ["fold_case = true", "nfc = true", "nfc = true\nfold_case = true", "trim = true\nnfc = true\nfold_case = true"] {
            let keys = keys(fields);
            let form = keys.normalize(&text);
            prop_assert_eq!(keys.normalize(&form), form.as_ref());
        }
    }
}
