//! Queueing disciplines and filters of traffic control (RTM_GETQDISC, RTM_GETTFILTER, linux/pkt_sched.h, linux/pkt_cls.h).

use super::source::{Question, Source, Subject};
use crate::absent::Part;
use crate::netlink::message::{attribute, attributes, long, text, word};
use linerate_text::saturating_u64;

/// `struct tcmsg`.
const HEADER: usize = 20;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_STATS2: u16 = 7;
/// TCA_STATS_BASIC: `struct gnet_stats_basic` with bytes and packets; TCA_STATS_PKT64: packets.
const STATS_BASIC: u16 = 1;
const STATS_PACKETS: u16 = 8;
/// TCA_STATS_QUEUE: `struct gnet_stats_queue` with qlen, backlog, drops.
const STATS_QUEUE: u16 = 3;
const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
const TCA_HTB_PARMS: u16 = 1;
const TCA_HTB_CEIL64: u16 = 7;
const TCA_FQ_FLOW_MAX_RATE: u16 = 7;
const TCA_FQ_PLIMIT: u16 = 1;
const TCA_CODEL_LIMIT: u16 = 2;
/// Kinds of filters, with the attribute of their actions.
pub(crate) const ACTIONS: &[(&str, u16)] =
    &[("matchall", 2), ("flower", 3), ("basic", 3), ("bpf", 1), ("u32", 7), ("fw", 4), ("cgroup", 1)];
const TCA_ACT_KIND: u16 = 1;
const TCA_ACT_OPTIONS: u16 = 2;
const TCA_GACT_PARMS: u16 = 2;
const TCA_POLICE_TBF: u16 = 1;
/// TC_ACT_SHOT
const SHOT: u32 = 2;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Qdisc {
    /// Index of the interface.
    pub link: u32,
    /// Kind (`fq_codel`).
    pub kind: String,
    /// Parent, `root` at the top.
    pub parent: String,
    /// Rate to which it holds all of it, or each flow, bytes per second.
    pub rate: Option<u64>,
    /// Bytes that a token bucket lets pass at once.
    pub burst: Option<u64>,
    /// Packets, or of bfifo bytes, that it holds.
    pub limit: Option<u32>,
    /// Packets that it sent, and that it dropped.
    pub sent: u64,
    pub drops: u64,
}

impl Qdisc {
    fn parse(body: &[u8]) -> Option<Self> {
        let (header, rest) = body.split_at_checked(HEADER)?;
        let kind = attribute(rest, TCA_KIND).map(text)?;
        let options = attribute(rest, TCA_OPTIONS).unwrap_or_default();
        let number = |of| attribute(options, of).map(|value| word(value, 0));
        // In `struct tc_tbf_qopt` the rate is the last word of the first `struct tc_ratespec`.
        let rate = match kind.as_str() {
            "tbf" => attribute(options, TCA_TBF_PARMS).map(|parameters| word(parameters, 8)),
            "fq" => number(TCA_FQ_FLOW_MAX_RATE),
            _ => None,
        };
        // In `struct tc_tbf_qopt` the burst is a time at its rate, in ticks of 64 ns (PSCHED_SHIFT).
        let ticks = attribute(options, TCA_TBF_PARMS).filter(|parameters| kind == "tbf" && parameters.len() >= 36);
        let wide_rate = attribute(options, TCA_TBF_RATE64).map(|rate| long(rate, 0)).or(rate.map(u64::from));
        let burst = ticks.zip(wide_rate).map(|(parameters, rate)| {
            saturating_u64(u128::from(rate) * u128::from(word(parameters, 28)) * 64 / 1_000_000_000)
        });
        let limit = match kind.as_str() {
            "pfifo" | "bfifo" | "pfifo_head_drop" => Some(word(options, 0)).filter(|_| options.len() >= 4),
            "sfq" => Some(word(options, 8)).filter(|_| options.len() >= 12),
            "fq" => number(TCA_FQ_PLIMIT),
            "fq_codel" | "codel" => number(TCA_CODEL_LIMIT),
            _ => None,
        };
        let of = |kind| attribute(rest, TCA_STATS2).and_then(|stats| attribute(stats, kind));
        let (counted, wide) = (of(STATS_QUEUE), of(STATS_PACKETS).filter(|wide| wide.len() >= 8));
        let sent = of(STATS_BASIC).filter(|basic| basic.len() >= 12).map(|basic| word(basic, 8).into());
        Some(Self {
            link: word(header, 4),
            kind,
            parent: match word(header, 12) {
                u32::MAX => "root".to_owned(),
                0xffff_fff1 => "ingress".to_owned(),
                parent => format!("{:x}:{:x}", parent >> 16, parent & 0xffff),
            },
            // All ones: without a limit.
            rate: wide_rate.filter(|rate| *rate != 0 && *rate != u64::from(u32::MAX)),
            burst,
            limit,
            sent: wide.map(|wide| long(wide, 0)).or(sent).unwrap_or(0),
            drops: counted.map_or(0, |counted| word(counted, 8).into()),
        })
    }
}

/// A filter, with what it does to the packets that it finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// Kind (`matchall`).
    pub kind: String,
    /// Kinds of its actions (`police`), of those that drop `drop`.
    pub actions: Vec<String>,
    /// Rate of a policer, bytes per second, and bytes that it lets pass at once.
    pub police: Option<[u64; 2]>,
}

impl Filter {
    /// Parses a filter's message; none of what only holds others.
    fn parse(body: &[u8]) -> Option<Self> {
        let rest = body.get(HEADER..)?;
        let kind = attribute(rest, TCA_KIND).map(text)?;
        let options = attribute(rest, TCA_OPTIONS)?;
        let at = ACTIONS.iter().find(|(one, _)| *one == kind).map(|(_, at)| *at);
        let actions = at.and_then(|at| attribute(options, at)).unwrap_or_default();
        let action = |action: &[u8]| {
            let name = attribute(action, TCA_ACT_KIND).map(text)?;
            let options = attribute(action, TCA_ACT_OPTIONS).unwrap_or_default();
            // `struct tc_gact`: index, capabilities, action.
            let shot = attribute(options, TCA_GACT_PARMS).is_some_and(|parameters| word(parameters, 8) == SHOT);
            Some(if name == "gact" && shot { "drop".to_owned() } else { name })
        };
        // `struct tc_police`: the fourth word is the burst, a time at the rate in ticks of 64 ns, and the eighth the rate.
        let police = attributes(actions).find_map(|(_, one)| {
            let options = attribute(one, TCA_ACT_OPTIONS).filter(|_| action(one).as_deref() == Some("police"))?;
            let parameters = attribute(options, TCA_POLICE_TBF).filter(|parameters| parameters.len() >= 32)?;
            let (rate, ticks) = (word(parameters, 28), word(parameters, 12));
            Some([rate.into(), saturating_u64(u128::from(rate) * u128::from(ticks) * 64 / 1_000_000_000)])
        });
        let actions: Vec<_> = attributes(actions).filter_map(|(_, one)| action(one)).collect();
        (!actions.is_empty()).then_some(Self { kind, actions, police })
    }
}

/// Disciplines of all interfaces.
pub fn qdiscs(source: &mut dyn Source) -> Part<Vec<Qdisc>> {
    Ok(source.ask(Question::Qdiscs, None)?.iter().filter_map(|body| Qdisc::parse(body)).collect())
}

/// Least rate to which classes of an interface hold their packets, bytes per second; none if no class does.
pub fn least_ceiling(source: &mut dyn Source, of: &Subject) -> Part<Option<u64>> {
    Ok(source.ask(Question::Classes, Some(of))?.iter().filter_map(|body| ceiling(body)).min())
}

/// Rate that a class of HTB does not pass.
fn ceiling(body: &[u8]) -> Option<u64> {
    let rest = body.get(HEADER..)?;
    attribute(rest, TCA_KIND).map(text).filter(|kind| kind == "htb")?;
    let options = attribute(rest, TCA_OPTIONS)?;
    // In `struct tc_htb_opt` the ceiling is the last word of the second `struct tc_ratespec`.
    let narrow = attribute(options, TCA_HTB_PARMS).filter(|parameters| parameters.len() >= 24);
    let wide = attribute(options, TCA_HTB_CEIL64).map(|rate| long(rate, 0));
    wide.or_else(|| narrow.map(|parameters| word(parameters, 20).into()))
}

/// Filters of an interface, of what it receives and of what it sends.
pub fn filters(source: &mut dyn Source, of: &Subject) -> Part<Vec<Filter>> {
    Ok(source.ask(Question::Filters, Some(of))?.iter().filter_map(|body| Filter::parse(body)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::notation::read;

    #[test]
    fn a_discipline_has_its_rate_and_limit_whatever_is_cut() {
        let header = |parent: u32| format!("raw u32 0\nraw u32 7\nraw u32 65536\nraw u32 {parent}\nraw u32 2\n");
        let text = [
            format!("message\n{}1 text tbf\n2 {{\n1 hex 000000000000000040420f00\n}}\n", header(u32::MAX)),
            format!("message\n{}1 text fq\n2 {{\n1 u32 10000\n7 u32 4294967295\n}}\n", header(0x1_0001)),
            format!("message\n{}1 text pfifo\n2 u32 2\n7 {{\n3 hex 000000000000000009000000\n}}\n", header(0x1_0002)),
        ];
        let bodies = read(&text.concat()).unwrap();
        let all: Vec<_> = bodies.iter().filter_map(|body| Qdisc::parse(body)).collect();
        let qdisc = |kind: &str, parent: &str, rate, limit, drops| Qdisc {
            link: 7,
            kind: kind.into(),
            parent: parent.into(),
            rate,
            burst: None,
            limit,
            sent: 0,
            drops,
        };
        let wanted = [
            qdisc("tbf", "root", Some(1_000_000), None, 0),
            qdisc("fq", "1:1", None, Some(10_000), 0),
            qdisc("pfifo", "1:2", None, Some(2), 9),
        ];
        assert_eq!(all, wanted);
        for body in &bodies {
            for end in 0..body.len() {
                assert!(Qdisc::parse(&body[..end]).is_none_or(|one| one.link == 7));
            }
        }
    }

    #[test]
    fn a_class_has_the_rate_that_it_does_not_pass() {
        let header = "message\nraw hex 0000000007000000000000000000000000000000\n1 text htb\n2 {\n1 hex 000000000000000040420f00000000000000000080841e00\n";
        let bodies = read(&format!("{header}}}\n{header}7 u64 12500000000\n}}\n")).unwrap();
        assert_eq!(
            bodies.iter().map(|body| ceiling(body)).collect::<Vec<_>>(),
            [Some(2_000_000), Some(12_500_000_000)]
        );
        for end in 0..bodies[0].len() {
            assert!(ceiling(&bodies[0][..end]).is_none_or(|rate| rate == 2_000_000), "{end}");
        }
    }

    #[test]
    fn a_filter_has_its_actions_whatever_is_cut() {
        let text = "message\nraw hex 0000000007000000000000000000000000000000\n1 text u32\n2 {\n1 u32 0\n}\n\
                    message\nraw hex 0000000007000000000000000000000000000000\n1 text matchall\n2 {\n2 {\n\
                    1 {\n1 text police\n}\n2 {\n1 text gact\n2 {\n2 hex 010000000000000002000000\n}\n}\n\
                    3 {\n1 text gact\n2 {\n2 hex 010000000000000000000000\n}\n}\n}\n}\n";
        let bodies = read(text).unwrap();
        let all: Vec<_> = bodies.iter().filter_map(|body| Filter::parse(body)).collect();
        let actions = ["police", "drop", "gact"].map(str::to_owned).to_vec();
        assert_eq!(all, [Filter { kind: "matchall".into(), actions, police: None }]);
        for end in 0..bodies[1].len() {
            assert!(Filter::parse(&bodies[1][..end]).is_none_or(|one| one.kind == "matchall"));
        }
    }
}
