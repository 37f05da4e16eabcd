//! Texts of `dcb OBJECT show dev IF` of iproute2, each behind its command, which alone names the interface.

use super::{Printed, command};
use crate::adapter::dcb::{APP, APP_TABLE, BUFFER, DCB_ATTR_DCBX, DCB_ATTR_IEEE, ETS, HEADER, MODES, PFC};
use crate::adapter::dcb::{BUFFER_BYTES, ETS_BYTES, MAXRATE, MAXRATE_BYTES, PFC_BYTES};
use crate::adapter::{App, Question};
use crate::netlink::message::{Message, attribute};
use crate::tunables::dcb_map;
use linerate_text::{power, whole};
use std::collections::BTreeMap;

/// Objects, and the structures that they show.
const OBJECTS: [(&str, Option<(u16, usize)>); 6] = [
    ("ets", Some((ETS, ETS_BYTES))),
    ("pfc", Some((PFC, PFC_BYTES))),
    ("buffer", Some((BUFFER, BUFFER_BYTES))),
    ("maxrate", Some((MAXRATE, MAXRATE_BYTES))),
    ("app", None),
    ("dcbx", None),
];

/// Single values: object, word, place and bytes in the structure.
const VALUES: [(&str, &str, usize, usize); 7] = [
    ("ets", "willing", 0, 1),
    ("ets", "ets-cap", 1, 1),
    ("ets", "cbs", 2, 1),
    ("pfc", "pfc-cap", 0, 1),
    ("pfc", "macsec-bypass", 2, 1),
    ("pfc", "delay", 4, 2),
    ("buffer", "total-size", 40, 4),
];

/// Settings of an interface, as texts tell them.
#[derive(Default)]
struct Told {
    structures: BTreeMap<u16, Vec<u8>>,
    apps: Vec<App>,
    dcbx: Option<u8>,
}

pub(super) fn read(host: &mut Printed, lines: &[String]) {
    let (mut all, mut at) = (BTreeMap::<String, Told>::new(), None);
    // Another host, behind its own prompt, may have an interface of that name.
    let mut prompts = BTreeMap::<&str, &str>::new();
    for line in lines {
        if let Some(named) = commanded(line) {
            let prompt = command(line).and_then(|typed| line.trim_end().strip_suffix(typed)).unwrap_or_default();
            let tells = prompt.contains(|c: char| c.is_ascii_alphanumeric());
            at = Some(named).filter(|(_, name)| !tells || *prompts.entry(name).or_insert(prompt) == prompt);
        } else if command(line).is_some() || line.trim().is_empty() {
            at = None;
        } else if let Some((object, name)) = at {
            all.entry(name.to_owned()).or_default().line(object, line);
        }
    }
    all.into_iter().for_each(|(name, told)| told.answer(host, &name));
}

/// Object and interface of a line with the command: `# dcb -s pfc show dev eth0`.
fn commanded(line: &str) -> Option<(&'static str, &str)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "dcb" || word.ends_with("/dcb"))?;
    let mut rest = words[at + 1..].iter().skip_while(|word| word.starts_with('-'));
    let object = rest.next()?;
    let (object, _) = OBJECTS.iter().find(|(name, _)| name == object)?;
    rest.find(|word| **word == "dev")?;
    Some((object, rest.next()?))
}

impl Told {
    fn line(&mut self, object: &'static str, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if object == "dcbx" {
            let bit = |word: &&str| MODES.iter().find(|(_, name)| name == word).map(|(bit, _)| *bit);
            let bits: Option<Vec<u8>> = words.iter().map(bit).collect();
            self.dcbx = self.dcbx.or_else(|| bits.map(|bits| bits.iter().fold(0, |all, bit| all | bit)));
            return;
        }
        let mut rest = words.as_slice();
        while let [key, tail @ ..] = rest {
            let pairs = tail.iter().take_while(|word| word.contains(':')).count();
            let (values, after) = tail.split_at(pairs.max(tail.len().min(1)));
            self.value(object, key, values);
            rest = after;
        }
    }

    fn value(&mut self, object: &str, key: &str, values: &[&str]) {
        let Some((_, structure)) = OBJECTS.iter().find(|(name, _)| *name == object) else { return };
        let Some((kind, bytes)) = structure else {
            self.apps.extend(values.iter().filter_map(|value| app(key, value)));
            return;
        };
        let patch = match VALUES.iter().find(|(of, word, ..)| *of == object && *word == key) {
            Some((_, _, at, bytes)) => values.first().and_then(|value| single(value)).and_then(|number| {
                let part = match bytes {
                    1 => vec![u8::try_from(number).ok()?],
                    2 => u16::try_from(number).ok()?.to_ne_bytes().to_vec(),
                    _ => number.to_ne_bytes().to_vec(),
                };
                Some((*at, part))
            }),
            None => {
                let plain: Option<Vec<String>> = values.iter().map(|value| in_units(key, value)).collect();
                let text = plain.unwrap_or_default().join(",");
                match (object, key) {
                    ("pfc", "requests") => dcb_map("tc-maxrate", &text).map(|(_, bytes)| (8, bytes)),
                    ("pfc", "indications") => dcb_map("tc-maxrate", &text).map(|(_, bytes)| (72, bytes)),
                    _ => dcb_map(key, &text),
                }
            }
        };
        if let Some((at, part)) = patch {
            let whole = self.structures.entry(*kind).or_insert_with(|| vec![0; *bytes]);
            if let Some(place) = whole.get_mut(at..at + part.len()) {
                place.copy_from_slice(&part);
            }
        }
    }

    /// Adds what is told to the interface's answer; what another text has told stays.
    fn answer(self, host: &mut Printed, name: &str) {
        let Self { structures, apps, dcbx } = self;
        if structures.is_empty() && apps.is_empty() && dcbx.is_none() {
            return;
        }
        let key = (Question::Dcb, name.to_owned());
        let before = host.answers.remove(&key).and_then(|mut all| all.pop()).unwrap_or_default();
        let before = before.get(HEADER..).unwrap_or_default();
        let mut message = Message::about(0, 0, &[0; HEADER]);
        message.nest(DCB_ATTR_IEEE, |ieee| {
            ieee.raw(attribute(before, DCB_ATTR_IEEE).unwrap_or_default());
            structures.iter().for_each(|(kind, bytes)| ieee.attribute(*kind, bytes));
            if !apps.is_empty() {
                ieee.nest(APP_TABLE, |table| apps.iter().for_each(|app| table.attribute(APP, &app.bytes())));
            }
        });
        if let Some(bits) = attribute(before, DCB_ATTR_DCBX).and_then(|value| value.first().copied()).or(dcbx) {
            message.attribute(DCB_ATTR_DCBX, &[bits]);
        }
        host.answers.insert(key, vec![message.into_body()]);
    }
}

/// Number of a single value: `on`, `8`, `256Kb`.
fn single(text: &str) -> Option<u32> {
    match text {
        "on" => Some(1),
        "off" => Some(0),
        _ => u32::try_from(linerate_text::bytes(text.strip_suffix('b').unwrap_or(text))?).ok(),
    }
}

/// A pair with its size in bytes, or its rate in kbit/s.
fn in_units(key: &str, pair: &str) -> Option<String> {
    let (of, value) = pair.split_once(':')?;
    let number = match key {
        "buffer-size" => linerate_text::bytes(value.strip_suffix('b').unwrap_or(value))?,
        "tc-maxrate" => whole(value.strip_suffix("bit").unwrap_or(value), |letter| power(letter, 1000))? / 1000,
        _ => return Some(pair.to_owned()),
    };
    Some(format!("{of}:{number}"))
}

/// Application of a table's word, `ethtype-prio`, and pair, `8906:3`.
fn app(word: &str, pair: &str) -> Option<App> {
    if word == "default-prio" {
        return App::read(&format!("default:{pair}"));
    }
    let (protocol, priority) = pair.split_once(':')?;
    let selector = word.strip_suffix("-prio")?;
    let protocol = match selector {
        "ethtype" => u16::from_str_radix(protocol.trim_start_matches("0x"), 16).ok()?,
        "dscp" => code_point(protocol)?,
        _ => protocol.parse().ok()?,
    };
    App::read(&format!("{selector} {protocol}:{priority}"))
}

/// Differentiated services code point by its number or name (RFC 2474, 2597, 3246, 5865, 8622).
fn code_point(text: &str) -> Option<u16> {
    let digits = |text: &str| text.bytes().map(|b| u16::from(b.wrapping_sub(b'0'))).collect::<Vec<_>>();
    let of = |begin: &str| text.strip_prefix(begin).map(digits);
    let code = match (text, of("CS").as_deref(), of("AF").as_deref()) {
        ("EF", ..) => Some(46),
        ("VA", ..) => Some(44),
        ("LE", ..) => Some(1),
        (_, Some([class]), _) => Some(8 * class),
        (_, _, Some([class @ 1..=4, drop @ 1..=3])) => Some(8 * class + 2 * drop),
        _ => text.parse().ok(),
    };
    code.filter(|code| *code < 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::{Dcb, Source, Subject, dcb};

    /// Printed by iproute2 6.1 on an interface with all of it.
    const TEXT: &str = "\
# dcb ets show dev dcb0
willing on ets-cap 8 cbs off
tc-bw 0:60 1:40 2:0 3:0 4:0 5:0 6:0 7:0
pg-bw 0:0 1:0 2:0 3:0 4:0 5:0 6:0 7:0
tc-tsa 0:ets 1:ets 2:strict 3:strict 4:strict 5:strict 6:strict 7:strict
prio-tc 0:0 1:0 2:0 3:1 4:0 5:0 6:0 7:0
reco-tc-bw 0:0 1:0 2:0 3:0 4:0 5:0 6:0 7:5
reco-tc-tsa 0:strict 1:strict 2:strict 3:strict 4:strict 5:strict 6:strict 7:vendor
reco-prio-tc 0:0 1:0 2:0 3:0 4:0 5:0 6:0 7:7
$ sudo dcb -s pfc show dev dcb0
pfc-cap 2 macsec-bypass on delay 100
prio-pfc 0:off 1:off 2:off 3:on 4:off 5:off 6:off 7:off
requests 0:0 1:0 2:0 3:5 4:0 5:0 6:0 7:0
indications 0:0 1:0 2:0 3:0 4:0 5:0 6:0 7:18446744073709551615
# dcb app show dev dcb0
ethtype-prio 8906:3 0x8914:3
default-prio 1
dscp-prio EF:5 AF31:2 CS6:6 10:1
stream-port-prio 3260:4
# dcb buffer show dev dcb0
prio-buffer 0:0 1:0 2:0 3:1 4:0 5:0 6:0 7:0
buffer-size 0:100Kb 1:64Kb 2:0b 3:7b 4:0b 5:0b 6:0b 7:1Mb
total-size 256Kb
# dcb maxrate show dev dcb0
tc-maxrate 0:0bit 1:10Gbit 2:1500Mbit 3:77Kbit 4:0bit 5:0bit 6:0bit 7:0bit
# dcb dcbx show dev dcb0
host ieee
";

    fn told(text: &str) -> Option<Dcb> {
        let mut host = Printed::default();
        read(&mut host, &text.lines().map(str::to_owned).collect::<Vec<_>>());
        dcb(&mut host, &Subject { index: 1, name: "dcb0".to_owned() }).ok()
    }

    #[test]
    fn what_dcb_prints_is_what_the_kernel_told_it() {
        let all = told(TEXT).unwrap();
        let ets = all.ets.unwrap();
        assert_eq!(
            (ets.willing, ets.ets_cap, ets.cbs, &ets.tc_bw[..2], ets.prio_tc[3]),
            (true, 8, false, &[60, 40][..], 1)
        );
        assert_eq!((ets.tc_tsa[1], ets.reco_tc_tsa[7], ets.reco_tc_bw[7], ets.reco_prio_tc[7]), (2, 255, 5, 7));
        let pfc = all.pfc.unwrap();
        assert_eq!((pfc.pfc_cap, pfc.enabled, pfc.macsec_bypass, pfc.delay), (2, 8, true, 100));
        assert_eq!((pfc.requests[3], pfc.indications[7]), (5, u64::MAX));
        let apps: Vec<String> = all.app.iter().map(App::to_string).collect();
        let wanted = [
            "ethtype 0x8906:3",
            "ethtype 0x8914:3",
            "default:1",
            "dscp 46:5",
            "dscp 26:2",
            "dscp 48:6",
            "dscp 10:1",
            "stream-port 3260:4",
        ];
        assert_eq!(apps, wanted);
        let buffer = all.buffer.unwrap();
        assert_eq!(
            (buffer.buffer_size[0], buffer.buffer_size[3], buffer.buffer_size[7], buffer.total_size),
            (102_400, 7, 1 << 20, 1 << 18)
        );
        assert_eq!(
            (all.maxrate.unwrap()[..4].to_vec(), all.dcbx.unwrap().to_string()),
            (vec![0, 10_000_000, 1_500_000, 77], "host,ieee".to_owned())
        );
    }

    #[test]
    fn texts_that_are_cut_or_bent_are_read_to_their_end() {
        for end in 0..TEXT.len() {
            told(&TEXT[..end]);
            for with in [":", "9", "x", "\n", " dev "] {
                told(&format!("{}{with}{}", &TEXT[..end], &TEXT[end..]));
            }
        }
        for line in
            ["tc-bw 0:300", "tc-bw 9:1", "prio-tc 0:99999999999999999999", "ets-cap 300", "willing", "tc-tsa 0:"]
        {
            let told = told(&format!("# dcb ets show dev dcb0\n{line}\n"));
            assert_eq!(told, None, "{line}");
        }
        assert_eq!(told("# dcb ets show\nwilling on\n"), None, "no interface is named");
        let mut host = Printed::default();
        assert!(host.ask(Question::Dcb, None).is_err());
    }
}
