//! Packs and unpacks the inputs of a fuzz target, for `scripts/fuzz`.
//!
//! ```text
//! corpus pack limiter DIRECTORY      the files of DIRECTORY become the inputs of the target
//! corpus unpack limiter DIRECTORY    each input becomes a file of DIRECTORY
//! ```

use std::env;
use std::error::Error;
use std::fs;
use std::path::Path;

use brimful_testkit::fuzz::corpus;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [verb, target, directory] = &*arguments else {
        return Err("usage: corpus pack|unpack TARGET DIRECTORY".into());
    };
    let (path, directory) = (corpus::path(target), Path::new(directory));
    match &**verb {
        "pack" => {
            let packed = corpus::pack(directory)?;
            fs::write(path, &packed)?;
            println!("{target}: {} inputs, {} bytes", corpus::unpack(&packed)?.len(), packed.len());
        }
        "unpack" => {
            for (place, input) in corpus::unpack(&fs::read(path)?)?.into_iter().enumerate() {
                fs::write(directory.join(format!("packed-{place:05}")), input)?;
            }
        }
        _ => return Err(format!("no verb is named {verb}").into()),
    }
    Ok(())
}
