//! Flags of the queues at the switch's outputs.

use super::super::dcb;
use crate::trouble::Trouble;
use clap::Args;
use linerate_dcb::Settings;
use linerate_port::switch::{Alpha, Buffers, Headroom, Span, Storm, StormAction, Watchdog};
use linerate_rt::dcb::class_table;
use linerate_text::{bytes, power, whole};

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
}

impl Queues {
    /// Buffers with their classes, if there are to be any, on such links if others are not given.
    pub(in crate::commands) fn buffers(&self, links: Span) -> Result<Option<Buffers>, Trouble> {
        let Some(buffers) = self.buffers else { return Ok(None) };
        let (classes, pfc) = (dcb::classes(&self.ets)?.unwrap_or_default(), dcb::lossless(&self.pfc)?);
        let settings = Settings { classes, pfc, ..Settings::default() };
        settings.check().map_err(|e| Trouble::usage(format!("--ets: {e}")))?;
        let classes = class_table(&classes, pfc).ok_or_else(|| Trouble::usage("--ets: give classes 0 to 7"))?;
        Ok(Some(Buffers { classes, span: self.links.unwrap_or(links), watchdog: self.pfc_watchdog, ..buffers }))
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
