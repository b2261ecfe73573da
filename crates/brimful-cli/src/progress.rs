//! How far a log has been read, shown on a terminal.

use std::io::{IsTerminal, Read};

use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

/// `log`, with a bar on stderr while it is read, if stderr is a terminal and `wanted`. The bar is
/// gone when the log is dropped. `size` is the log's length, where it has one.
pub(crate) fn shown(log: impl Read + 'static, size: Option<u64>, wanted: bool) -> Box<dyn Read> {
    if !wanted || !std::io::stderr().is_terminal() {
        return Box::new(log);
    }
    let (bar, template) = match size {
        Some(size) => (
            ProgressBar::new(size),
            "{bar:30} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
        ),
        None => (ProgressBar::no_length(), "{spinner} {bytes}, {bytes_per_sec}"),
    };
    // The templates above are well formed; without a style the bar is plain.
    let bar = match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    };
    Box::new(bar.with_finish(ProgressFinish::AndClear).wrap_read(log))
}
