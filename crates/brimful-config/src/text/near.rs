//! Which of the names that there are was meant.

/// Names longer than this are not compared, so that a long text costs nothing.
const LONGEST: usize = 64;

/// The known name that is nearest to a mistaken one: at most a third of its characters are wrong,
/// and at most 3; a transposition counts once. Of equally near ones the first.
pub(crate) fn nearest<'a>(
    mistaken: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let wrong: Vec<char> =
        mistaken.chars().take(LONGEST + 1).flat_map(char::to_lowercase).collect();
    if wrong.len() > LONGEST {
        return None;
    }
    let mut best: Option<(usize, &str)> = None;
    for name in known {
        let right: Vec<char> =
            name.chars().take(LONGEST + 1).flat_map(char::to_lowercase).collect();
        let most = (right.len().max(wrong.len()) / 3).clamp(1, 3);
        if right.len() > LONGEST || right.len().abs_diff(wrong.len()) > most {
            continue;
        }
        let apart = distance(&wrong, &right);
        let whole = apart >= right.len();
        if apart <= most && !whole && best.is_none_or(|(least, _)| apart < least) {
            best = Some((apart, name));
        }
    }
    best.map(|(_, name)| name)
}

/// How many insertions, deletions, replacements and swaps of neighbours turn one into the other
/// (the distance of optimal string alignment).
fn distance(from: &[char], to: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=to.len()).collect();
    let mut last: Option<char> = None;
    for (row, a) in from.iter().enumerate() {
        let mut current = vec![row.saturating_add(1)];
        let mut left_char: Option<char> = None;
        for (column, b) in to.iter().enumerate() {
            let at =
                |values: &[usize], place: usize| values.get(place).copied().unwrap_or(usize::MAX);
            let replaced = at(&above, column).saturating_add(usize::from(a != b));
            let deleted = at(&above, column.saturating_add(1)).saturating_add(1);
            let inserted = at(&current, column).saturating_add(1);
            let mut least = replaced.min(deleted).min(inserted);
            if last == Some(*b) && left_char == Some(*a) && column > 0 {
                least = least.min(at(&before, column.saturating_sub(1)).saturating_add(1));
            }
            current.push(least);
            left_char = Some(*b);
        }
        before = std::mem::replace(&mut above, current);
        last = Some(*a);
    }
    above.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_known_and_another_word_is_not() {
        let known = ["limit", "limits", "policy", "shadow", "key"];
        assert_eq!(nearest("limt", known), Some("limit"));
        assert_eq!(nearest("shadwo", known), Some("shadow"));
        assert_eq!(nearest("Policy", known), Some("policy"));
        assert_eq!(nearest("keys", known), Some("key"));
        assert_eq!(nearest("rate", known), None);
        assert_eq!(nearest("", known), None);
        assert_eq!(nearest("x", ["y"]), None);
        assert_eq!(nearest(&"l".repeat(10_000), known), None);
    }

    #[test]
    fn a_swap_counts_once() {
        let chars = |text: &str| text.chars().collect::<Vec<_>>();
        assert_eq!(distance(&chars("ab"), &chars("ba")), 1);
        assert_eq!(distance(&chars("kitten"), &chars("sitting")), 3);
        assert_eq!(distance(&chars(""), &chars("abc")), 3);
    }
}
