//! Settings that are sets: link modes, codes of error correction, and RSS's table, as text and as attributes.

use super::Value;
use crate::adapter::fields::truth;
use crate::ethtool::bitset;
use crate::netlink::message::attribute;

/// Codes: as typed, as the kernel names their bits, and by another name.
const CODES: &[(&str, &str, &str)] =
    &[("off", "None", "Off"), ("rs", "RS", ""), ("baser", "BASER", ""), ("llrs", "LLRS", "")];

/// ETHTOOL_A_FEC_MODES, ETHTOOL_A_FEC_AUTO.
pub(super) const FEC_MODES: u16 = 2;
pub(super) const FEC_AUTO: u16 = 3;

/// Codes that an answer has, as typed.
pub(super) fn codes(answer: &[u8]) -> String {
    let on = attribute(answer, FEC_MODES).map(bitset::on).unwrap_or_default();
    let auto = truth(answer, FEC_AUTO) == Some(true);
    let named = CODES.iter().filter(|(_, kernel, other)| on.iter().any(|one| one == kernel || one == other));
    let words: Vec<_> = auto.then_some("auto").into_iter().chain(named.map(|(word, ..)| *word)).collect();
    if words.is_empty() { "off".to_owned() } else { words.join(",") }
}

/// Reads codes as typed: chosen by the driver, and bits by the kernel's names.
pub(super) fn parse_codes(text: &str) -> Option<(bool, Vec<(&'static str, bool)>)> {
    let words: Vec<_> = text.split(',').collect();
    let known = |word: &&str| *word == "auto" || CODES.iter().any(|(one, ..)| one == word);
    words.iter().all(known).then(|| {
        let bits = CODES.iter().map(|(word, kernel, _)| (*kernel, words.contains(word)));
        (words.contains(&"auto"), bits.collect())
    })
}

/// Values of RSS's table: the number of queues that it is spread over equally, or all entries.
pub(super) fn spread(table: &[u32]) -> Value {
    let queues = table.iter().max().map_or(0, |most| most.saturating_add(1));
    if equal(queues, table.len()).eq(table.iter().copied()) {
        Value::Number(queues.into())
    } else {
        Value::Text(table.iter().map(u32::to_string).collect::<Vec<_>>().join(","))
    }
}

/// Table of so many entries that is spread over so many queues equally.
pub(super) fn equal(queues: u32, entries: usize) -> impl Iterator<Item = u32> {
    (0..queues).cycle().take(entries)
}
