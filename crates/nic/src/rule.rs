//! Receive filters in words: those of `ethtool -N`, with networks as `10.0.0.0/8`, and `mirror`.
//!
//! ```text
//!   [flow-type ether|ip4|tcp4|udp4|sctp4|ip6|tcp6|udp6|sctp6] [src-mac MAC] [dst-mac MAC] [proto ETHERTYPE] [vlan VID]
//!   [src-ip NET] [dst-ip NET] [l4proto N] [src-port N] [dst-port N]
//!   action QUEUE | action -1 | vf INTERFACE [queue QUEUE] | mirror INTERFACE
//!   [loc N]
//! ```

use linerate_offload::{Action, Match, Prefix, Rule};
use linerate_text::short;
use linerate_wire::{EtherType, IpProtocol, MacAddr};
use thiserror::Error;

/// Error of a rule's words, in one line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct RuleError(String);

const SCTP: IpProtocol = IpProtocol(132);
/// Types of flows: EtherType and protocol that a name stands for.
const TYPES: [(&str, Option<EtherType>, Option<IpProtocol>); 9] = [
    ("ether", None, None),
    ("ip4", Some(EtherType::IPV4), None),
    ("tcp4", Some(EtherType::IPV4), Some(IpProtocol::TCP)),
    ("udp4", Some(EtherType::IPV4), Some(IpProtocol::UDP)),
    ("sctp4", Some(EtherType::IPV4), Some(SCTP)),
    ("ip6", Some(EtherType::IPV6), None),
    ("tcp6", Some(EtherType::IPV6), Some(IpProtocol::TCP)),
    ("udp6", Some(EtherType::IPV6), Some(IpProtocol::UDP)),
    ("sctp6", Some(EtherType::IPV6), Some(SCTP)),
];
/// Words, and the value that follows each.
const WORDS: [(&str, &str); 15] = [
    ("flow-type", "a type of flow: ether, ip4, tcp4, udp4, sctp4, ip6, tcp6, udp6, sctp6"),
    ("src-mac", "an address, as 02:00:00:00:00:01"),
    ("dst-mac", "an address, as 02:00:00:00:00:01"),
    ("proto", "an EtherType, as 0x88f7"),
    ("vlan", "a VLAN, 0 to 4095; 0 is none"),
    ("src-ip", "an address or a network, as 10.0.0.0/8"),
    ("dst-ip", "an address or a network, as 10.0.0.0/8"),
    ("l4proto", "a protocol above IP, 0 to 255"),
    ("src-port", "a port, 0 to 65535"),
    ("dst-port", "a port, 0 to 65535"),
    ("action", "a queue, or -1 to drop"),
    ("vf", "the number of a virtual interface"),
    ("queue", "a queue of that interface"),
    ("mirror", "the number of a virtual interface"),
    ("loc", "a location, 0 to 65535: the lowest wins"),
];

/// Parses a rule; without `loc` it gets the location that is given.
///
/// # Errors
/// [`RuleError`] names the word that is wrong, and what it takes.
pub fn parse_rule<S: AsRef<str>>(words: &[S], location: u16) -> Result<Rule, RuleError> {
    let mut rule = Rule { location, fields: Match::default(), action: Action::Drop };
    let (mut action, mut queue, mut seen) = (None, None, Vec::new());
    let mut words = words.iter().map(AsRef::as_ref);
    while let Some(word) = words.next() {
        let (word, takes) = known(word)?;
        if seen.contains(&word) {
            return Err(RuleError(format!("{word}: it stands twice; give it once")));
        }
        seen.push(word);
        let Some(value) = words.next() else { return Err(RuleError(format!("{word}: no value; give {takes}"))) };
        let wrong = || RuleError(format!("{word} {}: give {takes}", short(value, 40)));
        let said = match (word, value) {
            ("action", "-1") => Action::Drop,
            ("action", _) => Action::Queue(number(value).ok_or_else(wrong)?),
            ("vf", _) => Action::Interface(number(value).ok_or_else(wrong)?, None),
            ("mirror", _) => Action::Mirror(number(value).ok_or_else(wrong)?),
            _ => {
                match word {
                    "loc" => rule.location = number(value).ok_or_else(wrong)?,
                    "queue" => queue = Some(number(value).ok_or_else(wrong)?),
                    _ => field(&mut rule.fields, word, value).ok_or_else(wrong)?,
                }
                continue;
            }
        };
        if action.replace(said).is_some() {
            return Err(RuleError(format!("{word}: a filter does one thing; give one of action, vf, mirror")));
        }
    }
    rule.action = match (action, queue) {
        (None, _) => {
            let mend = "give action QUEUE, action -1 (drop), vf INTERFACE or mirror INTERFACE";
            return Err(RuleError(format!("it does not say what to do; {mend}")));
        }
        (Some(Action::Interface(vi, _)), queue) => Action::Interface(vi, queue),
        (Some(_), Some(_)) => return Err(RuleError("queue: it belongs to vf; give vf INTERFACE queue QUEUE".into())),
        (Some(action), None) => action,
    };
    Ok(rule)
}

/// The row of a word.
fn known(word: &str) -> Result<(&'static str, &'static str), RuleError> {
    WORDS.iter().find(|(known, _)| *known == word).copied().ok_or_else(|| {
        let known = WORDS.iter().map(|(known, _)| *known);
        let mend = match linerate_text::nearest(word, known.clone()) {
            Some(meant) => format!("did you mean {meant}?"),
            None => format!("there are {}", known.collect::<Vec<_>>().join(", ")),
        };
        RuleError(format!("{}: no such word of a filter; {mend}", short(word, 40)))
    })
}

/// Takes note of a field to match; None if the value is none for it.
fn field(fields: &mut Match, word: &str, value: &str) -> Option<()> {
    match word {
        "flow-type" => {
            let (_, ethertype, protocol) = TYPES.iter().find(|(name, ..)| *name == value)?;
            fields.ethertype = fields.ethertype.or(*ethertype);
            fields.protocol = fields.protocol.or(*protocol);
        }
        "src-mac" => fields.src_mac = Some(value.parse::<MacAddr>().ok()?),
        "dst-mac" => fields.dst_mac = Some(value.parse::<MacAddr>().ok()?),
        "proto" => fields.ethertype = Some(EtherType(number(value)?)),
        "vlan" => fields.vlan = Some(number(value).filter(|vid| *vid <= 4095)?),
        "src-ip" => fields.src = Some(value.parse::<Prefix>().ok()?),
        "dst-ip" => fields.dst = Some(value.parse::<Prefix>().ok()?),
        "l4proto" => fields.protocol = Some(IpProtocol(u8::try_from(number(value)?).ok()?)),
        "src-port" => fields.src_port = Some(number(value)?),
        "dst-port" => fields.dst_port = Some(number(value)?),
        _ => return None,
    }
    Some(())
}

/// A rule in words that [`parse_rule`] reads.
#[must_use]
pub fn rule_text(rule: &Rule) -> String {
    let Match { src_mac, dst_mac, vlan, ethertype, src, dst, protocol, src_port, dst_port } = rule.fields;
    let kind = TYPES.iter().find(|(_, own, above)| *own == ethertype && *above == protocol && own.is_some());
    let mut text = format!("loc {}", rule.location);
    let mut say = |word: &str, value: Option<String>| {
        if let Some(value) = value {
            text += &format!(" {word} {value}");
        }
    };
    say("flow-type", kind.map(|(name, ..)| (*name).to_owned()));
    say("src-mac", src_mac.map(|mac| mac.to_string()));
    say("dst-mac", dst_mac.map(|mac| mac.to_string()));
    say("proto", ethertype.filter(|_| kind.is_none()).map(|own| format!("0x{:04x}", own.0)));
    say("vlan", vlan.map(|vid| vid.to_string()));
    say("src-ip", src.map(|net| net.to_string()));
    say("dst-ip", dst.map(|net| net.to_string()));
    say("l4proto", protocol.filter(|_| kind.is_none()).map(|own| own.0.to_string()));
    say("src-port", src_port.map(|port| port.to_string()));
    say("dst-port", dst_port.map(|port| port.to_string()));
    match rule.action {
        Action::Queue(queue) => say("action", Some(queue.to_string())),
        Action::Drop => say("action", Some("-1".into())),
        Action::Interface(vi, queue) => {
            say("vf", Some(vi.to_string()));
            say("queue", queue.map(|queue| queue.to_string()));
        }
        Action::Mirror(vi) => say("mirror", Some(vi.to_string())),
    }
    text
}

/// A number of 16 bits, also as 0x88f7.
fn number(text: &str) -> Option<u16> {
    match text.strip_prefix("0x") {
        Some(hex) => u16::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Rule, RuleError> {
        parse_rule(&text.split_whitespace().collect::<Vec<_>>(), 9)
    }

    #[test]
    fn rules_are_read_as_they_are_written() {
        for text in [
            "loc 0 flow-type udp4 src-ip 10.0.0.0/8 dst-port 53 action 2",
            "loc 3 flow-type ip6 dst-ip fd00::/16 action -1",
            "loc 7 src-mac 02:00:00:00:00:01 proto 0x88f7 vlan 5 vf 3 queue 1",
            "loc 65535 mirror 4",
        ] {
            assert_eq!(rule_text(&parse(text).unwrap()), text);
        }
        assert_eq!(rule_text(&parse("action -1").unwrap()), "loc 9 action -1");
        let rule = parse("flow-type ip4 l4proto 47 vf 0").unwrap();
        assert_eq!(parse(&rule_text(&rule)), Ok(rule), "a protocol that no type of flow has");
    }

    #[test]
    fn what_is_wrong_is_named_in_one_line() {
        for (text, says) in [
            ("", "it does not say what to do"),
            ("dst-port 80", "it does not say what to do"),
            ("dst-port eighty action 1", "dst-port eighty: give a port"),
            ("dst-prot 80 action 1", "did you mean dst-port?"),
            ("flow-type tcp5 action 1", "flow-type tcp5: give a type"),
            ("src-ip 10.0.0.0/33 action 1", "src-ip 10.0.0.0/33: give"),
            ("src-mac 5 action 1", "src-mac 5: give an address"),
            ("vlan 4096 action 1", "vlan 4096: give a VLAN"),
            ("action 1 vf 2", "does one thing"),
            ("action 1 queue 2", "belongs to vf"),
            ("action", "action: no value"),
            ("action 1 action 2", "stands twice"),
            ("loc 70000 action 1", "loc 70000: give a location"),
        ] {
            let line = parse(text).unwrap_err().to_string();
            assert!(line.contains(says) && !line.contains('\n'), "{text}: {line}");
        }
    }
}
