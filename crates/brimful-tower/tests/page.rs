//! README and `docs/http.md` show the example as it is. (It is compiled as an example, and with the page.)

use std::path::Path;

#[test]
fn the_pages_show_the_example_as_it_is() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &str| std::fs::read_to_string(root.join(path)).expect(path);
    let example = read("crates/brimful-tower/examples/axum.rs");
    assert!(example.lines().count() <= 60, "more than a page");
    for (page, how) in [("README.md", "ignore"), ("docs/http.md", "no_run")] {
        let block =
            format!("`cargo run --example axum` runs this:\n\n```rust,{how}\n{example}```\n");
        assert!(read(page).contains(&block), "{page} does not show examples/axum.rs");
    }
}
