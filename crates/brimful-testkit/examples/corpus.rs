//! Packs and unpacks the inputs of a fuzz target, for `scripts/fuzz`.
//!
//! ```text
//! corpus pack limiter DIRECTORY      the files of DIRECTORY become the inputs of the target
//! corpus unpack limiter DIRECTORY    each input becomes a file of DIRECTORY
//! corpus check limiter FILE          one input, without libFuzzer; a fault comes with its story
//! ```

use std::env;
use std::error::Error;
use std::fs;
use std::path::Path;

use brimful_testkit::fuzz::{self, corpus};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [verb, target, place] = &*arguments else {
        return Err("usage: corpus pack|unpack|check TARGET PLACE".into());
    };
    let (path, place) = (corpus::path(target), Path::new(place));
    match &**verb {
        "pack" => {
            let packed = corpus::pack(place)?;
            fs::write(path, &packed)?;
            println!("{target}: {} inputs, {} bytes", corpus::unpack(&packed)?.len(), packed.len());
        }
        "unpack" => {
            for (number, input) in corpus::unpack(&fs::read(path)?)?.into_iter().enumerate() {
                fs::write(place.join(format!("packed-{number:05}")), input)?;
            }
        }
        "check" => match &**target {
            "limiter" => fuzz::limiter(&fs::read(place)?),
            "limit" => fuzz::limit(&fs::read(place)?),
            _ => return Err(format!("{target} is not checked here").into()),
        },
        _ => return Err(format!("no verb is named {verb}").into()),
    }
    Ok(())
}
