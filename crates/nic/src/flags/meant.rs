//! Suggestions for words that are no flags: other systems' names for them, and words with typing errors.

use super::FLAGS;
use linerate_text::nearest;

/// Names in other systems' settings, and the words for them here.
const MEANT: &[(&str, &[&str])] = &[
    // Large Send Offload, although the published manual misprints lro so.
    ("lso", &["tso", "lro"]),
    ("lsov1", &["tso"]),
    ("lsov2", &["tso"]),
    ("gso", &["tso"]),
    ("rsc", &["lro"]),
    ("tpa", &["lro"]),
    ("csum", &["rxcsum", "txcsum"]),
    ("checksum", &["rxcsum", "txcsum"]),
    ("checksums", &["rxcsum", "txcsum"]),
    ("vlan", &["vlanhwtag"]),
    ("vlantag", &["vlanhwtag"]),
];

/// Words for parameters, which are no flags.
const PARAMETERS: &[&str] = &["jumbo", "mtu"];

/// Suggestion for a word, which may have a - before it.
pub(super) fn mend(word: &str) -> String {
    let (sign, name) = word.strip_prefix('-').map_or(("", word), |name| ("-", name));
    if PARAMETERS.contains(&name) {
        return "did you mean mtu=9000, or less?".to_owned();
    }
    let others = MEANT.iter().find(|(theirs, _)| *theirs == name).map(|(_, ours)| ours.to_vec());
    let meant = others.or_else(|| {
        let known = FLAGS.iter().flat_map(|row| row.words.iter().copied().chain([row.label]));
        Some(vec![nearest(name, known)?])
    });
    match meant {
        Some(meant) => {
            let words: Vec<_> = meant.iter().map(|meant| format!("{sign}{meant}")).collect();
            format!("did you mean {}?", words.join(" or "))
        }
        None => {
            let words: Vec<_> = FLAGS.iter().map(|flag| flag.words[0]).collect();
            format!("give one of {}, with - before it to disable", words.join(", "))
        }
    }
}
