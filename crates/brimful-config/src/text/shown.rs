//! Text of a file in a message: on one line, without what could change a terminal, not too long.

/// The most characters of a line that are shown around a caret.
const WIDTH: usize = 100;
/// The most characters of a text within a message.
const LONGEST: usize = 200;

/// What is shown for a character that cannot stand in a message: control characters, and those
/// that change the direction of writing.
fn harmless(character: char) -> char {
    match character {
        '\t' => ' ',
        '\u{200e}'
        | '\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{2028}'
        | '\u{2029}'
        | '\u{feff}' => '\u{fffd}',
        control if control.is_control() => '\u{fffd}',
        other => other,
    }
}

/// A message that may quote a file.
pub(crate) fn message(text: &str) -> String {
    let mut shown: String = text.chars().take(LONGEST).map(harmless).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    shown
}

/// A line with a caret below it: the text, and the characters that are pointed at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Excerpt {
    pub(crate) text: String,
    pub(crate) from: usize,
    pub(crate) width: usize,
}

/// What is shown of a line when its bytes from `at` on, `length` of them, are meant: at least one
/// character, at most the rest of the line.
pub(crate) fn excerpt(line: &str, at: usize, length: usize) -> Excerpt {
    let end = at.saturating_add(length).min(line.len());
    let chars = |to| line.get(..crate::source::floor(line, to)).unwrap_or("").chars().count();
    let (from, end, all) = (chars(at), chars(end), line.chars().count());
    let width = end.saturating_sub(from).max(1);
    // Some of what stands before, so that the place can be known.
    let first = if all <= WIDTH { 0 } else { from.saturating_sub(WIDTH / 3) };
    let cut_before = if first > 0 { "…" } else { "" };
    let shown: String = line.chars().skip(first).take(WIDTH).map(harmless).collect();
    let cut_after = if all > first.saturating_add(WIDTH) { "…" } else { "" };
    let from = from.saturating_sub(first).saturating_add(cut_before.chars().count());
    let width = width.min(WIDTH.saturating_sub(from.min(WIDTH.saturating_sub(1))));
    Excerpt { text: format!("{cut_before}{shown}{cut_after}"), from, width }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_shown_around_the_caret() {
        let line = format!("{}HERE{}", "a".repeat(500), "b".repeat(500));
        let shown = excerpt(&line, 500, 4);
        let pointed: String = shown.text.chars().skip(shown.from).take(shown.width).collect();
        assert_eq!(pointed, "HERE");
        assert!(shown.text.starts_with('…') && shown.text.ends_with('…'));
        assert!(shown.text.chars().count() <= WIDTH + 2);
    }

    #[test]
    fn what_could_change_a_terminal_is_replaced() {
        assert_eq!(message("a\u{1b}[31m\nb\u{202e}"), "a\u{fffd}[31m\u{fffd}b\u{fffd}");
        assert_eq!(
            excerpt("\tä\u{7}x", 3, 1),
            Excerpt { text: " ä\u{fffd}x".into(), from: 2, width: 1 }
        );
    }

    #[test]
    fn at_least_one_character_is_pointed_at() {
        assert_eq!(excerpt("abc", 3, 0), Excerpt { text: "abc".into(), from: 3, width: 1 });
        let end = excerpt(&"x".repeat(1000), 1000, 0);
        assert_eq!((end.from, end.width), (34, 1));
    }
}
