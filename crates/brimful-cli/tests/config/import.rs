//! `brimful config import`.

use brimful_config::import;

use super::{good, refused, run, run_bytes, written};

const ENVOY: &str = "domain: edge
descriptors:
- key: user
  rate_limit: {unit: minute, requests_per_unit: 100}
- key: user
  value: robot
  rate_limit: {unit: minute, requests_per_unit: 5}
";

const LIMITADOR: &str = "- namespace: shop
  max_value: 10
  seconds: 60
  conditions: [\"method == 'GET'\"]
  variables: [user]
";

#[test]
fn the_rules_go_to_stdout_and_are_good() {
    let (code, out, words) = run(&["config", "import", "--from", "envoy", "-"], ENVOY);
    assert_eq!((code, &*words), (0, ""));
    assert_eq!(out, import::envoy(ENVOY, "-").unwrap().toml());
    assert!(out.contains("match = \"edge:user:robot\"\nlimit = \"5/min fixed-window\"\n"), "{out}");
    let file = written("import", "edge.toml", &out);
    let checked = good(&["config", "check", &file], "");
    assert!(checked.starts_with(&format!("{file}: good, with ")), "{checked}");
    let key = "[\"edge\", \"user\", \"robot\"]";
    let explained = good(&["config", "explain", &file, "--key-json", key], "");
    assert!(
        explained.contains("5/min fixed-window: at most 5 in each window of 1min"),
        "{explained}"
    );
}

#[test]
fn warnings_go_to_stderr() {
    let file = written("import", "shop.yaml", LIMITADOR);
    let (code, out, words) = run(&["config", "import", "--from", "limitador", &file], "");
    let imported = import::limitador(LIMITADOR, &file).unwrap();
    assert_eq!((code, &*out), (0, imported.toml()));
    assert!(!imported.warnings().is_empty());
    let expected: String =
        imported.warnings().iter().map(|warning| format!("warning: {warning:#}\n")).collect();
    assert_eq!(words, expected);
}

#[test]
fn what_is_refused_prints_no_rules() {
    let bad = ENVOY.replace("minute", "fortnight").replace("value: robot", "valeu: robot");
    let words = refused(&["config", "import", "--from", "envoy", "-"], &bad);
    // All faults at once.
    assert!(words.matches("error: -:").count() >= 3, "{words}");
    assert!(words.contains("did you mean `value`?"), "{words}");
    let words = refused(&["config", "import", "--from", "envoy", "no/such.yaml"], "");
    assert!(words.starts_with("error: `no/such.yaml` cannot be opened: "), "{words}");
    let (code, out, words) = run_bytes(&["config", "import", "--from", "envoy", "-"], b"a: \xff");
    assert_eq!((code, &*out), (2, ""));
    assert!(words.contains("error: -:1:4: this is not UTF-8"), "{words}");
}

#[test]
fn arguments_that_are_wrong() {
    for (args, part) in [
        (&["-"][..], "--from <SERVER>"),
        (&["--from", "envoy"], "<FILE>"),
        (&["--from", "nginx", "-"], "envoy, limitador"),
    ] {
        let words = refused(&[&["config", "import"], args].concat(), ENVOY);
        assert!(words.contains(part), "{args:?}: {words}");
    }
}
