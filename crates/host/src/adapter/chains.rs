//! Chains of the packet filter that packets pass, and the effect of their rules (NFT_MSG_GETCHAIN, NFT_MSG_GETRULE,
//! linux/netfilter/nf_tables.h): those of nftables, and of iptables as it is now.

use super::source::{Question, Source};
use crate::absent::Part;
use crate::netlink::message::{attribute, attributes, text};

const NFTA_CHAIN_TABLE: u16 = 1;
const NFTA_CHAIN_NAME: u16 = 3;
const NFTA_CHAIN_HOOK: u16 = 4;
const NFTA_HOOK_HOOKNUM: u16 = 1;
const NFTA_HOOK_DEV: u16 = 3;
const NFTA_HOOK_DEVS: u16 = 4;
const NFTA_CHAIN_POLICY: u16 = 5;
const NFTA_CHAIN_USE: u16 = 6;
const NFTA_CHAIN_COUNTERS: u16 = 8;
/// NF_DROP
const DROP: u32 = 0;

/// A chain that packets pass by themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterChain {
    pub table: String,
    pub name: String,
    /// Number of the hook that it is at; none at the hooks of an interface.
    pub hook: Option<u32>,
    pub rules: u32,
    /// Packets that no rule decides on are dropped.
    pub drops: bool,
    /// Number of those, if they are counted.
    pub counted: Option<u64>,
}

impl FilterChain {
    /// Parses a chain; none if nothing comes to it but from other chains.
    fn parse(answer: &[u8]) -> Option<Self> {
        let number = |kind| Some(u32::from_be_bytes(*attribute(answer, kind)?.first_chunk()?));
        let at = attribute(answer, NFTA_CHAIN_HOOK)?;
        let device = attribute(at, NFTA_HOOK_DEV).or(attribute(at, NFTA_HOOK_DEVS)).is_some();
        let hook = attribute(at, NFTA_HOOK_HOOKNUM).and_then(|n| n.first_chunk()).map(|n| u32::from_be_bytes(*n));
        Some(Self {
            table: text(attribute(answer, NFTA_CHAIN_TABLE)?),
            name: text(attribute(answer, NFTA_CHAIN_NAME)?),
            hook: hook.filter(|_| !device),
            rules: number(NFTA_CHAIN_USE).unwrap_or(0),
            drops: number(NFTA_CHAIN_POLICY) == Some(DROP),
            counted: attribute(answer, NFTA_CHAIN_COUNTERS)
                .and_then(|counters| attribute(counters, NFTA_COUNTER_PACKETS)?.first_chunk())
                .map(|packets| u64::from_be_bytes(*packets)),
        })
    }
}

/// Chains that packets pass.
///
/// # Errors
/// The kernel has none of it, or does not tell for want of a privilege.
pub fn chains(source: &mut dyn Source) -> Part<Vec<FilterChain>> {
    Ok(source.ask(Question::Chains, None)?.iter().filter_map(|answer| FilterChain::parse(answer)).collect())
}

// Of a rule.
const NFTA_RULE_CHAIN: u16 = 2;
const NFTA_RULE_TABLE: u16 = 1;
const NFTA_RULE_HANDLE: u16 = 3;
const NFTA_RULE_EXPRESSIONS: u16 = 4;
const NFTA_EXPR_NAME: u16 = 1;
const NFTA_EXPR_DATA: u16 = 2;
const NFTA_IMMEDIATE_DATA: u16 = 2;
const NFTA_DATA_VALUE: u16 = 1;
const NFTA_DATA_VERDICT: u16 = 2;
const NFTA_VERDICT_CODE: u16 = 1;
const NFTA_EXTHDR_TYPE: u16 = 2;
const NFTA_EXTHDR_OP: u16 = 6;
const NFTA_EXTHDR_SREG: u16 = 7;
/// NFT_EXTHDR_OP_TCPOPT, and the option for the longest segment.
const TCPOPT: u32 = 1;
const MAXSEG: u8 = 2;
const NFTA_RT_KEY: u16 = 2;
/// NFT_RT_TCPMSS
const TCPMSS: u32 = 3;
const NFTA_TARGET_NAME: u16 = 1;
const NFTA_MATCH_NAME: u16 = 1;

const NFTA_COUNTER_PACKETS: u16 = 2;
const NFTA_LIMIT_RATE: u16 = 1;
const NFTA_LIMIT_UNIT: u16 = 2;
const NFTA_LIMIT_TYPE: u16 = 4;
const NFTA_META_KEY: u16 = 2;
/// NFT_META_IIFNAME, NFT_META_OIFNAME
const NAMES: [u32; 2] = [6, 7];
/// NFT_META_NFPROTO, NFT_META_L4PROTO
const NFPROTO: u32 = 15;
const L4PROTO: u32 = 16;
const NFTA_PAYLOAD_BASE: u16 = 2;
const NFTA_PAYLOAD_OFFSET: u16 = 3;
const NFTA_CMP_OP: u16 = 2;
const NFTA_CMP_DATA: u16 = 3;
/// Numbers of ICMP, and of its message that says that something was not reached (RFC 792); those of IPv6, and of Packet Too Big
/// (RFC 4443).
const TOO_BIG: [(u8, u8); 2] = [(1, 3), (58, 2)];
/// Code of that message for a packet that was too long.
const FRAGMENTATION_NEEDED: u8 = 4;
/// NF_ACCEPT
const ACCEPT: u32 = 1;

/// Rate of a limiter: so much in so many seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    pub rate: u64,
    pub seconds: u64,
    /// Bytes, and not packets.
    pub bytes: bool,
}

/// The word of a router that a packet was too long, by what a rule looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Looks {
    /// The protocol.
    protocol: Option<u8>,
    /// The message's type.
    kind: Option<u8>,
    /// It looks at more than the rule's other fields tell.
    narrower: bool,
    /// It looks at what a connection is known for, or at a set of messages.
    wider: bool,
}

impl Looks {
    /// True if all of those messages are meant.
    fn at_too_big(self) -> bool {
        let of =
            |(protocol, kind): (u8, u8)| self.protocol == Some(protocol) && self.kind.is_none_or(|one| one == kind);
        !self.narrower && !self.wider && TOO_BIG.into_iter().any(of)
    }
}

/// Field of a packet that a rule has loaded to compare it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loaded {
    /// The version of IP.
    Family,
    Protocol,
    /// The first bytes of the header behind that of IP.
    Message,
    /// The interface by which it came, or leaves.
    Interface,
    Other,
}

/// Effect of a rule on packets that others would pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterRule {
    pub table: String,
    pub chain: String,
    /// It drops packets, or refuses them with an answer.
    pub drops: bool,
    /// It looks at their rate.
    pub limits: bool,
    /// It picks them at random.
    pub random: bool,
    /// Longest segment that it has the ends of connections agree on.
    pub segment: Option<u16>,
    /// It has segments fit the path that each connection takes.
    pub fits_path: bool,
    /// It gives packets that leave an address of this host.
    pub masquerades: bool,
    /// It drops, or lets pass (then false), what routers tell of packets that were too long.
    pub too_big: Option<bool>,
    /// Interface of whose packets it lets some or all pass; empty if it names none, and is not about known connections alone.
    pub passes: Option<String>,
    /// Rate of the limiter, if it tells one.
    pub limit: Option<Limit>,
    /// Packets that it has counted behind its limiter.
    pub counted: Option<u64>,
    /// Number of it in its table.
    pub handle: u64,
}

impl FilterRule {
    /// Parses a rule; none of those that only count, mark or let pass.
    fn parse(answer: &[u8]) -> Option<Self> {
        let number = |bytes: &[u8]| bytes.first_chunk().map(|n| u32::from_be_bytes(*n));
        let wide = |bytes: &[u8]| bytes.first_chunk().map(|n| u64::from_be_bytes(*n));
        let mut rule = Self {
            table: text(attribute(answer, NFTA_RULE_TABLE)?),
            chain: text(attribute(answer, NFTA_RULE_CHAIN)?),
            drops: false,
            limits: false,
            random: false,
            segment: None,
            fits_path: false,
            masquerades: false,
            too_big: None,
            passes: None,
            limit: None,
            counted: None,
            handle: attribute(answer, NFTA_RULE_HANDLE).and_then(wide).unwrap_or(0),
        };
        let (mut value, mut of_path) = (None, false);
        let (mut looks, mut loaded, mut accepts) = (Looks::default(), Loaded::Other, false);
        let mut interface = String::new();
        for (_, expression) in attributes(attribute(answer, NFTA_RULE_EXPRESSIONS)?) {
            let data = attribute(expression, NFTA_EXPR_DATA).unwrap_or_default();
            match attribute(expression, NFTA_EXPR_NAME).map(text).unwrap_or_default().as_str() {
                "immediate" => {
                    let data = attribute(data, NFTA_IMMEDIATE_DATA).unwrap_or_default();
                    value = attribute(data, NFTA_DATA_VALUE)
                        .and_then(|value| value.first_chunk())
                        .map(|n| u16::from_be_bytes(*n));
                    let code =
                        attribute(data, NFTA_DATA_VERDICT).and_then(|verdict| attribute(verdict, NFTA_VERDICT_CODE));
                    let code = code.and_then(number);
                    rule.drops |= code == Some(DROP);
                    // What another chain does with it is not known.
                    (accepts, looks.wider) =
                        (code == Some(ACCEPT), looks.wider | code.is_some_and(|code| code >= 1 << 31));
                }
                "reject" => rule.drops = true,
                "limit" => {
                    (rule.limits, looks.narrower) = (true, true);
                    rule.limit = attribute(data, NFTA_LIMIT_RATE).and_then(wide).map(|rate| Limit {
                        rate,
                        seconds: attribute(data, NFTA_LIMIT_UNIT).and_then(wide).unwrap_or(1),
                        bytes: attribute(data, NFTA_LIMIT_TYPE).and_then(number) == Some(1),
                    });
                }
                "counter" if rule.limits => rule.counted = attribute(data, NFTA_COUNTER_PACKETS).and_then(wide),
                "counter" | "log" => {}
                "masq" => rule.masquerades = true,
                "meta" if attribute(data, NFTA_META_KEY).and_then(number).is_some_and(|key| NAMES.contains(&key)) => {
                    loaded = Loaded::Interface;
                }
                "meta" if attribute(data, NFTA_META_KEY).and_then(number) == Some(L4PROTO) => loaded = Loaded::Protocol,
                "meta" if attribute(data, NFTA_META_KEY).and_then(number) == Some(NFPROTO) => loaded = Loaded::Family,
                "payload" => {
                    let at =
                        [NFTA_PAYLOAD_BASE, NFTA_PAYLOAD_OFFSET].map(|kind| attribute(data, kind).and_then(number));
                    loaded = match at {
                        // The network's header, where IPv4 and IPv6 have the protocol; and the one behind it.
                        [Some(1), Some(9 | 6)] => Loaded::Protocol,
                        [Some(2), Some(0)] => Loaded::Message,
                        _ => Loaded::Other,
                    };
                }
                "cmp" => {
                    let value = attribute(data, NFTA_CMP_DATA).and_then(|data| attribute(data, NFTA_DATA_VALUE));
                    let equal = attribute(data, NFTA_CMP_OP).and_then(number) == Some(0);
                    match (loaded, value) {
                        (Loaded::Family, _) => {}
                        (Loaded::Interface, Some(name)) => {
                            looks.narrower = true;
                            if equal {
                                interface = text(name)
                            }
                        }
                        (Loaded::Protocol, Some([protocol])) if equal => looks.protocol = Some(*protocol),
                        (Loaded::Message, Some([kind])) if equal => looks.kind = Some(*kind),
                        (Loaded::Message, Some([kind, FRAGMENTATION_NEEDED])) if equal => looks.kind = Some(*kind),
                        _ => looks.narrower = true,
                    }
                }
                "ct" => looks.wider = true,
                "match" if attribute(data, NFTA_MATCH_NAME).map(text).as_deref() == Some("physdev") => {
                    looks.narrower = true
                }
                "lookup" if loaded == Loaded::Message => looks.wider = true,
                "numgen" => (rule.random, loaded) = (true, Loaded::Other),
                "rt" => of_path |= attribute(data, NFTA_RT_KEY).and_then(number) == Some(TCPMSS),
                // iptables' own, as nftables runs it.
                "target" => {
                    let name = attribute(data, NFTA_TARGET_NAME).map(text).unwrap_or_default();
                    (rule.fits_path, rule.masquerades) =
                        (rule.fits_path || name == "TCPMSS", rule.masquerades || name == "MASQUERADE");
                }
                "exthdr" => {
                    let option = attribute(data, NFTA_EXTHDR_OP).and_then(number) == Some(TCPOPT)
                        && attribute(data, NFTA_EXTHDR_TYPE).and_then(<[u8]>::first) == Some(&MAXSEG);
                    let set = attribute(data, NFTA_EXTHDR_SREG).is_some();
                    rule.fits_path |= option && set && of_path;
                    rule.segment = value.filter(|_| option && set && !of_path).or(rule.segment);
                }
                // A bit of what was loaded is compared next.
                "bitwise" => {}
                _ => looks.narrower = true,
            }
        }
        let of_any = looks.protocol.is_none() && !looks.wider && !rule.limits && !rule.random;
        // What it narrows besides is not looked at: it may pass them.
        rule.passes = (accepts && (!interface.is_empty() || of_any)).then_some(interface);
        let passes = accepts && (looks.at_too_big() || looks.wider && !looks.narrower) || looks.wider && !rule.drops;
        rule.too_big = if rule.drops && looks.at_too_big() { Some(true) } else { passes.then_some(false) };
        let does = rule.drops || rule.limits || rule.segment.is_some() || rule.fits_path || rule.masquerades;
        (does || rule.too_big.is_some() || rule.passes.is_some()).then_some(rule)
    }
}

/// Rules that drop packets, let pass what routers tell, look at rates, translate, or change the size of segments.
///
/// # Errors
/// The kernel has none of it, or does not tell for want of a privilege.
pub fn filter_rules(source: &mut dyn Source) -> Part<Vec<FilterRule>> {
    Ok(source.ask(Question::FilterRules, None)?.iter().filter_map(|answer| FilterRule::parse(answer)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::notation::read;

    #[test]
    fn a_rule_says_what_it_does_whatever_is_cut() {
        let text = "message\n1 text t\n2 text c\n4 {\n1 {\n1 text limit\n}\n1 {\n1 text immediate\n2 {\n1 hex 00000000\n2 {\n2 {\n\
                    1 hex 00000000\n}\n}\n}\n}\n}\n\
                    message\n1 text t\n2 text c\n4 {\n1 {\n1 text counter\n}\n1 {\n1 text immediate\n2 {\n2 {\n2 {\n1 hex 00000001\n}\n}\n}\n}\n}\n\
                    message\n1 text t\n2 text c\n4 {\n1 {\n1 text immediate\n2 {\n2 {\n1 hex 01f4\n}\n}\n}\n\
                    1 {\n1 text exthdr\n2 {\n2 hex 02\n6 hex 00000001\n7 hex 00000001\n}\n}\n}\n\
                    message\n1 text t\n2 text c\n4 {\n1 {\n1 text rt\n2 {\n1 hex 00000001\n2 hex 00000003\n}\n}\n\
                    1 {\n1 text exthdr\n2 {\n2 hex 02\n6 hex 00000001\n7 hex 00000001\n}\n}\n}\n\
                    message\n1 text t\n2 text c\n4 {\n1 {\n1 text target\n2 {\n1 text TCPMSS\n}\n}\n}\n";
        let bodies = read(text).unwrap();
        let all: Vec<_> = bodies.iter().filter_map(|body| FilterRule::parse(body)).collect();
        let rule = |drops, limits, segment| FilterRule {
            table: "t".into(),
            chain: "c".into(),
            drops,
            limits,
            random: false,
            segment,
            fits_path: false,
            masquerades: false,
            too_big: None,
            passes: None,
            limit: None,
            counted: None,
            handle: 0,
        };
        let clamp = |segment| FilterRule { fits_path: true, ..rule(false, false, segment) };
        let accept = FilterRule { passes: Some(String::new()), ..rule(false, false, None) };
        assert_eq!(all, [rule(true, true, None), accept, rule(false, false, Some(500)), clamp(None), clamp(None)]);
        for body in &bodies {
            for end in 0..body.len() {
                assert!(FilterRule::parse(&body[..end]).is_none_or(|one| one.table == "t"));
            }
        }
    }
}
