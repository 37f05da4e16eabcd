//! The word that was meant.

/// The known word that a word with a typing error or two stands for, or that it is the start of: for the question "did
/// you mean …?" in an error. Case is ignored. None if none is near.
#[must_use]
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed: Vec<char> = word.to_lowercase().chars().take(LONGEST + 1).collect();
    if typed.len() > LONGEST {
        return None;
    }
    let rank = |known: &&'a str| {
        let meant: Vec<char> = known.to_lowercase().chars().collect();
        let errors = match typed.len().max(meant.len()) {
            0..=2 => 0,
            3..=5 => 1,
            _ => 2,
        };
        let wrong = distance(&typed, &meant);
        if wrong <= errors { Some(wrong) } else { (typed.len() > 2 && meant.starts_with(&typed)).then_some(errors + 1) }
    };
    known
        .into_iter()
        .filter_map(|known| Some((rank(&known)?, known)))
        .min_by_key(|(rank, _)| *rank)
        .map(|(_, known)| known)
}

/// Letters of the longest word that is compared.
const LONGEST: usize = 60;

/// Number of letters that are missing, superfluous, wrong, or swapped (optimal string alignment).
fn distance(a: &[char], b: &[char]) -> usize {
    let mut rows = vec![(0..=b.len()).collect::<Vec<_>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let wrong = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = wrong.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn typing_errors_have_a_nearest_word_and_other_words_have_none() {
        let known = ["tso", "lro", "rxcsum", "txcsum", "vlanhwtso", "--seconds", "ls", "tso6"];
        for (typed, meant) in [
            ("rxcsun", Some("rxcsum")),
            ("rxscum", Some("rxcsum")),
            ("vlanhwtsu", Some("vlanhwtso")),
            ("VLANHWTOS", Some("vlanhwtso")),
            ("TSO", Some("tso")),
            ("tos", Some("tso")),
            ("lr", Some("lro")),
            ("lss", Some("ls")),
            ("--sec", Some("--seconds")),
            ("--seonds", Some("--seconds")),
            ("", None),
            ("l", None),
            ("lt", None),
            ("mtu", None),
            ("rxcsun666", None),
            (&"rxcsum".repeat(100), None),
        ] {
            assert_eq!(nearest(typed, known), meant, "{typed}");
        }
        assert_eq!(nearest("tso", []), None);
    }
}
