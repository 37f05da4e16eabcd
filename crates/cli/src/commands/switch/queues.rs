//! Flags of the queues at the switch's outputs.

use super::super::dcb;
use crate::trouble::Trouble;
use clap::Args;
use linerate_dcb::{Congestion, Settings};
use linerate_port::switch::{Alpha, Buffers, Ecn, Headroom, Qcn, Span, Storm, StormAction, Watchdog};
use linerate_rt::dcb::class_table;
use linerate_text::{bytes, decimal, power, whole};

/// Least bytes of all buffers.
const LEAST: u64 = 64 << 10;
/// Longest frame of a port of the usual MTU, with a tag and without FCS.
const LARGEST: usize = 1522;

#[derive(Args, Clone, Debug)]
pub(in crate::commands) struct Queues {
    /// Have frames that find no room at a port wait in queues by traffic class, in buffers of this size (as 16M) for all
    /// ports; without it they are dropped, or wait at their sender where pause was granted.
    ///
    /// reserved=SIZE is the part that each queue has of its own (4K), together half of all at most. All share the rest: a queue may have alpha
    /// times what is left of it, where alpha=N is a power of two from 1/128 to 8 (1).
    #[arg(long, value_name = "SIZE[:reserved=SIZE][:alpha=N]", value_parser = buffers)]
    buffers: Option<Buffers>,
    /// Traffic classes of the queues, as iproute2's `dcb ets` has them: prio-tc 0:0 3:1, tc-tsa 0:ets 1:ets (or strict),
    /// tc-bw 0:50 1:50; `all` stands for each number. Without these all priorities are of class 0.
    #[arg(long, value_name = "WORDS", num_args = 1.., requires = "buffers")]
    ets: Vec<String>,
    /// Lossless priorities: prio 3, or as iproute2's `dcb pfc` has them, prio-pfc 3:on. When those from a port have their share
    /// of the buffers, its neighbour is asked to pause them: the other end of a cable by its mask, others by frames (IEEE
    /// 802.1Q clause 36), which are obeyed, too.
    #[arg(long, value_name = "WORDS", num_args = 1.., requires = "buffers")]
    pfc: Vec<String>,
    /// Rate of the ports' links in bit/s (as 25G), and the length of their cables in metres: what may still arrive after a pause
    /// is asked for has room beside the queues, and a pause has its time in quanta of the rate (10G:100).
    #[arg(long, value_name = "RATE[:METRES]", requires = "buffers", value_parser = span)]
    links: Option<Span>,
    /// Drop the frames of a lossless class at a port whose neighbour has stopped it for so many milliseconds (a storm), and pause
    /// nobody for them, until it has not been stopped for restore=MS (twice the time).
    ///
    /// With action=forward they leave in spite of the pause, as far as there is room. Storms are told, and ports that wait for
    /// each other (a circle) are named.
    #[arg(long, value_name = "MS[:restore=MS][:action=drop|forward]", requires = "pfc", value_parser = watchdog)]
    pfc_watchdog: Option<Watchdog>,
    /// Mark IP packets that may be marked (ECN, RFC 3168) as they leave a queue: none below KMIN bytes of it, all above KMAX, and
    /// between them with a probability that grows to PMAX percent (10), as the WRED profiles of switches have it.
    ///
    /// Packets that may not be marked are left to the queue's threshold. CLASS= sets a class's own; without it all others are meant.
    #[arg(long, value_name = "[CLASS=]KMIN:KMAX[:PMAX]", num_args = 1.., requires = "buffers", value_parser = ecn)]
    ecn: Vec<(Option<usize>, Ecn)>,
    /// Congestion-controlled priorities: prio 3, or prio 3:setpoint=26K. A queue that is longer than the set point, or grows
    /// towards it, has messages sent to the sources of sampled frames (QCN, IEEE 802.1Q clause 30.2).
    #[arg(long, value_name = "WORDS", num_args = 1.., requires = "buffers")]
    qcn: Vec<String>,
    /// Negotiate Data Center Bridging at each port (LLDP and DCBX, as linerate dcb up does): neighbours are offered these classes and
    /// lossless priorities, and priorities of applications (--app). The switch takes nothing of theirs.
    #[arg(long, requires = "buffers")]
    dcb: bool,
    /// Priorities of applications, as iproute2's `dcb app` has them: ethtype 0x8906:3, stream-port 3260:4, dgram-port, port,
    /// dscp, default 0.
    #[arg(long, value_name = "WORDS", num_args = 1.., requires = "dcb")]
    app: Vec<String>,
}

impl Queues {
    /// Buffers with their classes, if there are to be any, on such links if others are not given.
    pub(in crate::commands) fn buffers(&self, links: Span) -> Result<Option<Buffers>, Trouble> {
        let Some(buffers) = self.buffers else { return Ok(None) };
        let Settings { classes, pfc, .. } = self.settings()?;
        let classes = class_table(&classes, pfc).ok_or_else(|| Trouble::usage("--ets: give classes 0 to 7"))?;
        let (span, watchdog, qcn) = (self.links.unwrap_or(links), self.pfc_watchdog, congestion_points(&self.qcn)?);
        let mut ecn = [None; 8];
        let own = self.ecn.iter().filter(|(class, _)| class.is_some());
        for (class, marks) in self.ecn.iter().filter(|(class, _)| class.is_none()).chain(own) {
            match class {
                Some(class) => ecn[*class] = Some(*marks),
                None => ecn.fill(Some(*marks)),
            }
        }
        Ok(Some(Buffers { classes, span, watchdog, ecn, qcn, ..buffers }))
    }

    fn settings(&self) -> Result<Settings, Trouble> {
        let (classes, pfc) = (dcb::classes(&self.ets)?, dcb::lossless(&self.pfc)?);
        let applications = dcb::applications("--app", &self.app)?;
        let points = congestion_points(&self.qcn)?.map_or(Congestion::Off, |qcn| Congestion::Points(qcn.priorities));
        let settings = Settings {
            classes: classes.unwrap_or_default(),
            recommendation: classes,
            pfc,
            applications,
            congestion: points,
            ..Settings::default()
        };
        settings.check().map_err(|e| Trouble::usage(format!("--ets: {e}")))?;
        Ok(settings)
    }

    /// Settings that neighbours are offered, if there is a negotiation.
    pub(in crate::commands) fn offered(&self) -> Result<Option<Settings>, Trouble> {
        self.dcb.then(|| self.settings()).transpose()
    }

    /// Headroom of lossless classes, in lines; none without such.
    pub(super) fn headroom(&self) -> Vec<String> {
        let headroom = Headroom::new(&self.links.unwrap_or_default(), LARGEST).to_string();
        let title = format!("headroom of a lossless class at a port, for frames of up to {LARGEST} bytes without FCS:");
        let lines = std::iter::once(title).chain(headroom.lines().map(|line| format!("  {line}")));
        lines.filter(|_| !self.pfc.is_empty()).collect()
    }
}

/// Links, as they are typed.
fn span(text: &str) -> Result<Span, String> {
    let (rate, metres) = text.split_once(':').unwrap_or((text, "100"));
    let wrong = || "give a rate from 1M to 1T and up to 100000 metres, as 25G:40".to_owned();
    let rate = whole(rate, |letter| power(letter, 1000)).filter(|rate| (1_000_000..=1_000_000_000_000).contains(rate));
    let metres = metres.parse().ok().filter(|metres| *metres <= 100_000);
    Ok(Span { rate: rate.ok_or_else(wrong)?, metres: metres.ok_or_else(wrong)? })
}

/// Watchdog, as it is typed.
fn watchdog(text: &str) -> Result<Watchdog, String> {
    let mut parts = text.split(':');
    let time = |text: &str| {
        let ms = text.parse::<u64>().ok().filter(|ms| (10..=60_000).contains(ms));
        ms.map(|ms| ms * 1_000_000).ok_or_else(|| format!("'{text}' is no time; give 10 to 60000 milliseconds"))
    };
    let detect = time(parts.next().unwrap_or(""))?;
    let mut watchdog = Watchdog { detect, restore: 2 * detect, action: StormAction::Drop };
    for part in parts {
        match part.split_once('=') {
            Some(("restore", text)) => watchdog.restore = time(text)?,
            Some(("action", "drop")) => watchdog.action = StormAction::Drop,
            Some(("action", "forward")) => watchdog.action = StormAction::Forward,
            _ => return Err(format!("{part}: give restore=MS, action=drop or action=forward")),
        }
    }
    Ok(watchdog)
}

/// Thresholds of marks, as they are typed, and their class if it is one's own.
fn ecn(text: &str) -> Result<(Option<usize>, Ecn), String> {
    let wrong = || "give KMIN:KMAX[:PMAX], bytes and percent, as 100K:400K:10, or 1=100K:400K for class 1".to_owned();
    let (class, sizes) = text.split_once('=').map_or((None, text), |(class, sizes)| (Some(class), sizes));
    let class = class.map(|class| class.parse().ok().filter(|class| *class < 8).ok_or_else(wrong)).transpose()?;
    let parts: Vec<&str> = sizes.split(':').collect();
    let (least, most, chance) = match parts[..] {
        [least, most] => (least, most, "10"),
        [least, most, chance] => (least, most, chance),
        _ => return Err(wrong()),
    };
    let (least, most) = bytes(least).zip(bytes(most)).filter(|(least, most)| least <= most).ok_or_else(wrong)?;
    // Percent in ten-thousandths, of which a whole has a million.
    let chance =
        decimal(chance, 4).and_then(|chance| u32::try_from(chance).ok()).filter(|n| (1..=1_000_000).contains(n));
    Ok((class, Ecn { least, most, chance: chance.ok_or_else(wrong)? }))
}

/// `--qcn`.
fn congestion_points(words: &[String]) -> Result<Option<Qcn>, Trouble> {
    let Some((last, rest)) = words.split_last() else { return Ok(None) };
    let (word, set_point) = match last.split_once(":setpoint=") {
        None => (last.as_str(), Some(Qcn::SET_POINT)),
        Some((word, text)) => {
            (word, bytes(text).and_then(|n| u32::try_from(n).ok()).filter(|n| (1000..=1 << 30).contains(n)))
        }
    };
    let words: Vec<String> = rest.iter().cloned().chain([word.to_owned()]).collect();
    let set_point =
        set_point.ok_or_else(|| Trouble::usage(format!("--qcn: {last}: give setpoint=1000 to 1G, as 26K")))?;
    match dcb::priorities_of("--qcn", &words)? {
        0 => Err(Trouble::usage("--qcn: give priorities, as prio 3")),
        priorities => Ok(Some(Qcn { priorities, set_point })),
    }
}

/// Storms that were last told.
#[derive(Default)]
pub(super) struct Storms(Vec<Storm>);

impl Storms {
    /// Takes note of the storms that there are now; lines for the user about those that have begun or ended.
    pub(super) fn change(&mut self, now: Vec<Storm>) -> Vec<String> {
        let same = |a: &Storm, b: &Storm| (&a.port, a.class) == (&b.port, b.class);
        let begun = now.iter().filter(|storm| !self.0.iter().any(|told| same(told, storm))).map(|storm| {
            let circle = match &storm.circle[..] {
                [] => String::new(),
                [port] => format!("; it waits for frames of {port} itself"),
                ports => format!("; ports {} wait for each other", ports.join(", ")),
            };
            let priorities = dcb::priorities(storm.priorities).iter().map(u8::to_string).collect::<Vec<_>>().join(" ");
            format!(
                "{}: a storm: class {} (prio {priorities}) has been stopped for too long{circle}",
                storm.port, storm.class
            )
        });
        let ended = self.0.iter().filter(|told| !now.iter().any(|storm| same(told, storm)));
        let ended = ended.map(|storm| format!("{}: class {} goes again: the storm is over", storm.port, storm.class));
        let lines = begun.chain(ended).collect();
        self.0 = now;
        lines
    }
}

/// Buffers, as they are typed.
fn buffers(text: &str) -> Result<Buffers, String> {
    let mut parts = text.split(':');
    let size = |text: &str| bytes(text).ok_or_else(|| format!("'{text}' is no size; give bytes, as 512K or 16M"));
    let mut buffers = Buffers { bytes: size(parts.next().unwrap_or(""))?, ..Buffers::default() };
    for part in parts {
        match part.split_once('=') {
            Some(("reserved", text)) => buffers.reserved = size(text)?,
            Some(("alpha", text)) => buffers.alpha = text.parse::<Alpha>().map_err(|e| format!("{part}: {e}"))?,
            _ => return Err(format!("{part}: give reserved=SIZE or alpha=N")),
        }
    }
    if !(LEAST..=Buffers::MOST).contains(&buffers.bytes) {
        return Err("give a size from 64K to 16G".to_owned());
    }
    if buffers.reserved > buffers.bytes {
        return Err(format!("reserved={} is more than there is; give less", buffers.reserved));
    }
    Ok(buffers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_read_and_what_is_wrong_is_named() {
        assert_eq!(span("25G:40"), Ok(Span { rate: 25_000_000_000, metres: 40 }));
        assert_eq!(span("10G"), Ok(Span::default()));
        for text in ["", "10", "10G:", "2T", "10G:100001", "10G:-1", "x:1"] {
            assert!(span(text).unwrap_err().contains("as 25G:40"), "{text}");
        }
    }

    #[test]
    fn marks_are_read_and_what_is_wrong_is_named() {
        let marks = |least, most, chance| Ecn { least, most, chance };
        assert_eq!(ecn("100K:400K"), Ok((None, marks(100 << 10, 400 << 10, 100_000))));
        assert_eq!(ecn("7=0:0:100"), Ok((Some(7), marks(0, 0, 1_000_000))));
        assert_eq!(ecn("1:2:0.02"), Ok((None, marks(1, 2, 200))));
        for text in ["", "1", "2:1", "1:2:0", "1:2:101", "1:2:3:4", "8=1:2", "=1:2", "x:1", "1:2:"] {
            assert!(ecn(text).unwrap_err().contains("as 100K:400K:10"), "{text}");
        }
    }

    #[test]
    fn congestion_points_are_read_and_what_is_wrong_is_named() {
        let read = |text: &str| congestion_points(&text.split(' ').map(str::to_owned).collect::<Vec<_>>());
        let points = |priorities, set_point| Some(Qcn { priorities, set_point });
        assert_eq!(congestion_points(&[]).unwrap(), None);
        assert_eq!(read("prio 3").unwrap(), points(8, 26_000));
        assert_eq!(read("prio 3 4:setpoint=64K").unwrap(), points(0x18, 65_536));
        for text in ["prio 8", "prio", "3", "prio 3:setpoint=", "prio 3:setpoint=999", "prio 3:x=1"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_watchdog_is_read_and_what_is_wrong_is_named() {
        let ms = |detect: u64, restore: u64, action| Watchdog {
            detect: detect * 1_000_000,
            restore: restore * 1_000_000,
            action,
        };
        assert_eq!(watchdog("200"), Ok(ms(200, 400, StormAction::Drop)));
        assert_eq!(watchdog("100:action=forward:restore=50"), Ok(ms(100, 50, StormAction::Forward)));
        for text in ["", "9", "60001", "x", "200:restore=0", "200:action=", "200:action=stop", "200:"] {
            assert!(watchdog(text).unwrap_err().contains("give "), "{text}");
        }
    }

    #[test]
    fn a_storm_is_told_once_and_its_end() {
        let storm = |port: &str, circle: &[&str]| Storm {
            port: port.to_owned(),
            class: 1,
            priorities: 1 << 3,
            circle: circle.iter().map(|port| (*port).to_owned()).collect(),
        };
        let mut storms = Storms::default();
        let told = storms.change(vec![storm("b", &[]), storm("a", &["a", "c"])]);
        let begun = |port: &str| format!("{port}: a storm: class 1 (prio 3) has been stopped for too long");
        assert_eq!(told, [begun("b"), begun("a") + "; ports a, c wait for each other"]);
        assert_eq!(storms.change(vec![storm("b", &[])]), ["a: class 1 goes again: the storm is over"]);
        assert!(storms.change(vec![storm("b", &[])]).is_empty());
    }

    #[test]
    fn buffers_are_read_and_what_is_wrong_is_named() {
        assert_eq!(buffers("1M").unwrap(), Buffers { bytes: 1 << 20, ..Buffers::default() });
        let all = Buffers { bytes: 1 << 20, reserved: 512, alpha: "1/4".parse().unwrap(), ..Buffers::default() };
        assert_eq!((buffers("1M:reserved=512:alpha=1/4"), buffers("1M:alpha=1/4:reserved=512")), (Ok(all), Ok(all)));
        for (text, wanted) in [
            ("", "'' is no size; give bytes, as 512K or 16M"),
            ("63K", "give a size from 64K to 16G"),
            ("17G", "give a size from 64K to 16G"),
            ("1M:reserved=x", "'x' is no size; give bytes, as 512K or 16M"),
            ("1M:reserved=2M", "reserved=2097152 is more than there is; give less"),
            ("1M:alpha=3", "alpha=3: give a power of two from 1/128 to 8, as 1/2 or 4"),
            ("1M:beta=3", "beta=3: give reserved=SIZE or alpha=N"),
        ] {
            assert_eq!(buffers(text).unwrap_err(), wanted, "{text}");
        }
    }
}
