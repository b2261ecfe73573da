//! `brimful schema`.

use super::{good, refused};

#[test]
fn the_schema_is_that_of_the_reader() {
    let out = good(&["schema"], "");
    let schema: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(schema, brimful_config::schema());
    assert!(out.ends_with("}\n") && out.lines().count() > 100);
    let words = refused(&["schema", "limits.toml"], "");
    assert!(words.contains("unexpected argument"), "{words}");
}
