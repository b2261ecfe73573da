use proptest::prelude::*;

use super::*;

fn made(template: &str, values: &[&str]) -> String {
    let template: Template = template.parse().unwrap();
    assert_eq!(template.fields().count(), values.len());
    template.key(|place| Ok(Cow::Borrowed(values[place]))).unwrap().into_owned()
}

#[test]
fn fields_with_text_around_them() {
    for (template, values, key) in [
        ("{a}", &["x"][..], "x"),
        ("{a}", &[r"x\{y}:"], r"x\{y}:"),
        ("<{a}>", &[r"x>\<"], r"<x>\<>"),
        ("{a}:{b}", &["x", "y"], "x:y"),
        ("{a}:{b}", &["x:y", "z"], r"x\:y:z"),
        ("{a}:{b}", &["x", "y:z"], "x:y:z"),
        ("{a}:{b}", &[r"x\", "y"], r"x\\:y"),
        ("{a}--{b}", &["x-y", "z-"], r"x\-y--z-"),
        ("{a} {a}", &["x", "x"], "x x"),
        ("{a}é{b}", &["xéy", "z"], r"x\éyéz"),
        ("{{{a}}}", &["x"], "{x}"),
        ("{{}}{a}", &["x"], "{}x"),
        ("{a}}}{b}", &["x", "y"], "x}y"),
        ("{user.id} {a b}{{c}}", &["1", "2"], "1 2{c}"),
    ] {
        assert_eq!(made(template, values), key, "{template} {values:?}");
    }
    let template: Template = "{a b}/{c}".parse().unwrap();
    assert_eq!(template.fields().collect::<Vec<_>>(), ["a b", "c"]);
    assert_eq!(template.to_string(), "{a b}/{c}");
}

#[test]
fn templates_that_are_refused() {
    let long = format!("{{a}}{}", "x".repeat(Template::MAX_LEN));
    for (template, part) in [
        ("", "has no field"),
        ("remote_addr", "has no field"),
        ("{{remote_addr}}", "has no field"),
        ("{}", "without a name"),
        ("{a", "`{` without its `}`"),
        ("{a}{", "`{` without its `}`"),
        ("{a{b}}", "`{` without its `}`"),
        ("a}", "`}` without its `{`"),
        ("{a}}", "`}` without its `{`"),
        ("{a}{b}", "needs text before {b}"),
        (r"{a}\{b}", "a backslash behind a field"),
        (&long, "is longer than 1024 bytes"),
    ] {
        let fault = template.parse::<Template>().unwrap_err();
        let words = fault.to_string();
        assert!(fault.is_usage() && words.contains(part), "{template}: {words}");
        assert!(words.starts_with("the key template `") && words.len() < 250, "{words}");
    }
    // Behind the last field and before the first it does no harm.
    assert_eq!(made(r"\{a}\", &["x"]), r"\x\");
}

#[test]
fn a_key_is_no_longer_than_a_line() {
    let template: Template = "{a} {a} {a}".parse().unwrap();
    let value = "x".repeat(MAX_LINE / 2);
    let fault = template.key(|_| Ok(Cow::Borrowed(&*value))).unwrap_err();
    assert_eq!(fault.to_string(), "the key is longer than 1048576 bytes");
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in r"[a{}\\. é]{0,12}") {
        let _ = text.parse::<Template>();
    }
}

/// Values that differ make keys that differ, whatever text is between them: all short values of the
/// characters that could do harm.
#[test]
fn different_values_make_different_keys() {
    let mut values = vec![String::new()];
    for from in 0..13 {
        let longer = ["a", ":", "\\"].map(|last| format!("{}{last}", values[from]));
        values.extend(longer);
    }
    values.truncate(13);
    for between in ["a", ":", "a:", ":a", "::", r"a\", r":\"] {
        let template: Template = format!("{{x}}{between}{{y}}{between}{{z}}:").parse().unwrap();
        let mut keys = std::collections::HashSet::new();
        for x in &values {
            for y in &values {
                for z in &values {
                    let all = [x, y, z];
                    let key = template.key(|place| Ok(Cow::Borrowed(all[place]))).unwrap();
                    assert!(keys.insert(key.into_owned()), "{between} {all:?}");
                }
            }
        }
        assert_eq!(keys.len(), 13 * 13 * 13);
    }
}
