//! What is meant by words that are no flags: others' names of the same, and words with typing errors.

use super::FLAGS;
use linerate_port::nearest;

/// Names in other systems' settings, and the words that stand for them here.
const MEANT: &[(&str, &[&str])] = &[
    // Large Send Offload, but the published manual misprints lro so.
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

/// What is no flag but a parameter.
const PARAMETERS: &[&str] = &["jumbo", "mtu"];

/// The mend for a word, which may have a - before it.
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
