//! Says to the sources that a model checker stands in for what threads share.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(brimful_model)");
    println!("cargo::rustc-cfg=brimful_model");
    println!("cargo::rerun-if-changed=build.rs");
}
