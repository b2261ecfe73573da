//! Where a part of a text stands in the file that it was read from.
//!
//! A text is written with quotes, escapes and indentation. What is written and what is read have
//! the same characters that are no white space, in the same order: those are put side by side.
//! Where they differ, the place is not known.

use std::ops::Range;

/// One character that was read, and the bytes that it is written in.
struct Written {
    character: char,
    bytes: Range<usize>,
}

/// The bytes of a file in which `part` (bytes of the text `read`) is written, when the whole text is
/// written in `span`. An empty part is the place after the character before it.
pub(crate) fn place(
    file: &str,
    span: Range<usize>,
    read: &str,
    part: Range<usize>,
) -> Option<Range<usize>> {
    let written = file.get(span.clone())?;
    let characters = characters(written, span.start);
    let mut characters = characters.iter().filter(|c| !c.character.is_whitespace());
    let (mut from, mut to, mut before) = (None, None, None);
    for (at, character) in read.char_indices().filter(|(_, c)| !c.is_whitespace()) {
        let found = characters.next().filter(|found| found.character == character)?;
        if at < part.start {
            before = Some(found.bytes.end);
        } else if at < part.end {
            from = from.or(Some(found.bytes.start));
            to = Some(found.bytes.end);
        }
    }
    if characters.next().is_some() {
        return None;
    }
    match (from, to, before) {
        (Some(from), Some(to), _) => Some(from..to),
        (_, _, Some(before)) => Some(before..before),
        _ => None,
    }
}

/// What a written text says, character by character, by its quotes.
fn characters(written: &str, start: usize) -> Vec<Written> {
    let quotes = ["\"\"\"", "'''", "\"", "'"];
    let quote = quotes.into_iter().find(|quote| {
        written.len() >= quote.len().saturating_mul(2)
            && written.starts_with(quote)
            && written.ends_with(quote)
    });
    let Some(quote) = quote else {
        return plain(written, start, None);
    };
    let end = written.len().saturating_sub(quote.len());
    let content = written.get(quote.len()..end).unwrap_or("");
    let start = start.saturating_add(quote.len());
    match quote {
        "\"" | "\"\"\"" => escaped(content, start),
        // A quote in YAML's single quotes is doubled; one in TOML's there cannot be.
        "'" => plain(content, start, Some('\'')),
        _ => plain(content, start, None),
    }
}

/// Every character stands for itself, but for one that is doubled.
fn plain(content: &str, start: usize, doubled: Option<char>) -> Vec<Written> {
    let mut all = Vec::new();
    let mut skip = false;
    for (at, character) in content.char_indices() {
        if skip && doubled == Some(character) {
            skip = false;
            continue;
        }
        skip = doubled == Some(character);
        let from = start.saturating_add(at);
        all.push(Written { character, bytes: from..from.saturating_add(character.len_utf8()) });
    }
    all
}

/// The escapes of TOML's basic strings and of YAML's double quotes; they do not contradict each
/// other.
fn escaped(content: &str, start: usize) -> Vec<Written> {
    let mut all = Vec::new();
    let mut rest = content.char_indices();
    while let Some((at, character)) = rest.next() {
        let mut said = Some(character);
        if character == '\\' {
            said = match rest.next().map(|(_, escape)| escape) {
                Some('x') => number(&mut rest, 2),
                Some('u') => number(&mut rest, 4),
                Some('U') => number(&mut rest, 8),
                Some(escape) => simple(escape),
                None => None,
            };
        }
        let end = content.len().saturating_sub(rest.as_str().len());
        if let Some(character) = said {
            let bytes = start.saturating_add(at)..start.saturating_add(end);
            all.push(Written { character, bytes });
        }
    }
    all
}

fn number(rest: &mut std::str::CharIndices<'_>, digits: usize) -> Option<char> {
    let mut value = 0_u32;
    for _ in 0..digits {
        let digit = rest.next()?.1.to_digit(16)?;
        value = value.checked_mul(16)?.checked_add(digit)?;
    }
    char::from_u32(value)
}

/// `None` for what stands for white space or nothing.
fn simple(escape: char) -> Option<char> {
    match escape {
        '0' => Some('\0'),
        'a' => Some('\u{7}'),
        'b' => Some('\u{8}'),
        'e' => Some('\u{1b}'),
        '"' | '/' | '\\' => Some(escape),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'a>(file: &'a str, read: &str, part: Range<usize>) -> Option<&'a str> {
        place(file, 0..file.len(), read, part).and_then(|bytes| file.get(bytes))
    }

    #[test]
    fn escapes_quotes_and_folds_are_seen_through() {
        assert_eq!(found("\"10/minn\"", "10/minn", 3..7), Some("minn"));
        assert_eq!(found("\"\\u0031\\x30/m\\tinn\"", "10/m\tinn", 3..8), Some("m\\tinn"));
        assert_eq!(found("'it''s 1/x'", "it's 1/x", 7..8), Some("x"));
        assert_eq!(found("'it''s 1/x'", "it's 1/x", 2..3), Some("'"));
        assert_eq!(found("'''\n10/minn'''", "10/minn", 3..7), Some("minn"));
        assert_eq!(found("plain\n   10/minn", "plain 10/minn", 9..13), Some("minn"));
        assert_eq!(found("\"\"\"a \\\n   1/minn\"\"\"", "a 1/minn", 4..8), Some("minn"));
    }

    #[test]
    fn an_empty_part_is_the_place_after_what_is_before_it() {
        assert_eq!(place("\"10/\"", 0..5, "10/", 3..3), Some(4..4));
        assert_eq!(place("\"10/  \"", 0..7, "10/  ", 5..5), Some(4..4));
        assert_eq!(place("\"\"", 0..2, "", 0..0), None);
    }

    #[test]
    fn a_text_that_is_not_written_there_has_no_place() {
        assert_eq!(found("\"10/min\"", "10/minn", 3..7), None);
        assert_eq!(found("\"10/minnn\"", "10/minn", 3..7), None);
    }
}
