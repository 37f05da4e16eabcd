//! `ifconfig -m`: flags, MTU, options and capabilities, addresses, media.

use super::bits::NamedBits;
use super::lines;
use serde::Serialize;
use std::str::FromStr;

/// An interface as ifconfig(8) prints it. What it does not print is `None` or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Ifconfig {
    pub name: String,
    /// Interface flags (`UP`, `RUNNING`).
    pub flags: Option<NamedBits>,
    pub metric: Option<u32>,
    pub mtu: Option<u32>,
    /// Capabilities that are enabled.
    pub options: Option<NamedBits>,
    /// Capabilities that the driver has.
    pub capabilities: Option<NamedBits>,
    /// Address of the link layer.
    pub ether: Option<String>,
    /// The adapter's own address, where another one was set.
    pub hardware: Option<String>,
    /// Addresses of IPv4, with netmask and broadcast address.
    pub inet: Vec<String>,
    /// Addresses of IPv6, with prefix length and scope.
    pub inet6: Vec<String>,
    /// Medium: chosen, and in use.
    pub media: Option<String>,
    /// `active` or `no carrier`.
    pub status: Option<String>,
    /// Media that the adapter supports.
    pub supported: Vec<String>,
    /// Other lines.
    pub other: Vec<String>,
    /// Lines with a set of names that cannot be read, as it has no end.
    pub broken: Vec<String>,
}

/// A capability of an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IfCapability {
    /// FreeBSD's name, without `IFCAP_`.
    pub name: String,
    /// Its bit, if the text tells it.
    pub bit: Option<u32>,
    pub enabled: bool,
}

impl Ifconfig {
    /// Parses the text of any number of interfaces, in its order.
    #[must_use]
    pub fn parse(text: &str) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        // True while lines belong to the interface that was added last.
        let mut inside = false;
        for line in whole(text) {
            let line = line.as_str();
            if !line.starts_with(char::is_whitespace) {
                let found = head(line);
                inside = found.is_some();
                all.extend(found);
            } else if let Some(last) = all.last_mut().filter(|_| inside) {
                last.add(line.trim());
            }
        }
        all
    }

    fn add(&mut self, line: &str) {
        let set = |text| NamedBits::parse(text).map(|(set, _)| set);
        if line.contains('<') && !line.contains('>') {
            self.broken.push(line.to_owned());
        }
        let word = |text: &str| text.split_whitespace().next().map(str::to_owned);
        let Some((key, value)) = line.split_once(['=', ' ']) else {
            return self.other.extend(Some(line.to_owned()).filter(|line| !line.is_empty()));
        };
        match (key, value.trim()) {
            ("options", value) => self.options = set(value),
            ("capabilities", value) => self.capabilities = set(value),
            ("ether", value) => self.ether = word(value),
            ("hwaddr", value) => self.hardware = word(value),
            ("inet", value) => self.inet.push(value.to_owned()),
            ("inet6", value) => self.inet6.push(value.to_owned()),
            ("media:", value) => self.media = Some(value.to_owned()),
            ("status:", value) => self.status = Some(value.to_owned()),
            ("supported", "media:") => {}
            ("media", _) => self.supported.push(line.to_owned()),
            _ => self.other.push(line.to_owned()),
        }
    }

    /// Driver: the letters of its name, or `vlan`.
    #[must_use]
    pub fn driver(&self) -> &str {
        super::card::split(&self.name).0
    }

    #[must_use]
    pub fn has(&self, flag: &str) -> bool {
        self.flags.as_ref().is_some_and(|flags| flags.has(flag))
    }

    /// All capabilities in the order of their bits, and which of them are enabled.
    #[must_use]
    pub fn offloads(&self) -> Vec<IfCapability> {
        let (none, on) = (NamedBits::default(), self.options.as_ref());
        let (on, all) = (on.unwrap_or(&none), self.capabilities.as_ref().or(on).unwrap_or(&none));
        // Some drivers enable what they do not count among their capabilities.
        let more = on.names.iter().filter(|name| !all.has(name));
        let one = |name: &String| IfCapability {
            bit: all.bit(name).or_else(|| on.bit(name)),
            enabled: on.has(name),
            name: name.clone(),
        };
        let mut rows: Vec<_> = all.names.iter().chain(more).map(one).collect();
        rows.sort_by_key(|row| row.bit.unwrap_or(u32::MAX));
        rows
    }

    /// Mb/s of the medium in use (`10Gbase-SR`, `1000baseT`), or else of the chosen one.
    #[must_use]
    pub fn speed(&self) -> Option<u32> {
        let media = self.media.as_ref()?;
        let active = media.split_once('(').map_or(media.as_str(), |(_, active)| active);
        active.split([' ', ')', '(']).find_map(megabits)
    }
}

/// Lines, of which those are put together again that a mail, a page or a terminal has wrapped within a set of names.
fn whole(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_,".contains(c);
    for line in lines(text) {
        let names = line.trim();
        let end = names.find(|c| !is_name(c)).unwrap_or(names.len());
        let goes_on = !names.is_empty() && (names[end..].is_empty() || names[end..].starts_with('>'));
        let open = |last: &&mut String| last.rfind('<').is_some_and(|at| !last[at..].contains('>'));
        match all.last_mut().filter(open) {
            Some(last) if goes_on => last.push_str(names),
            _ => all.push(line.to_owned()),
        }
    }
    all
}

/// The first line of an interface.
fn head(line: &str) -> Option<Ifconfig> {
    let (name, rest) = line.split_once(": flags=")?;
    if name.is_empty() || name.contains(char::is_whitespace) {
        return None;
    }
    let parsed = NamedBits::parse(rest);
    let broken = Some(line.to_owned()).filter(|_| parsed.is_none()).into_iter().collect();
    let words: Vec<_> = parsed.as_ref().map_or(rest, |(_, rest)| rest).split_whitespace().collect();
    Some(Ifconfig {
        name: name.to_owned(),
        metric: behind(&words, "metric"),
        mtu: behind(&words, "mtu"),
        flags: parsed.map(|(flags, _)| flags),
        broken,
        ..Ifconfig::default()
    })
}

/// Number behind a word.
pub(super) fn behind<T: FromStr>(words: &[&str], word: &str) -> Option<T> {
    let at = words.iter().position(|one| *one == word)?;
    words.get(at + 1)?.parse().ok()
}

/// Mb/s that a medium has in its name.
fn megabits(name: &str) -> Option<u32> {
    let name = name.to_ascii_lowercase();
    let number = name.split_once("base")?.0;
    match number.strip_suffix('g') {
        Some(giga) => giga.parse::<u32>().ok()?.checked_mul(1000),
        None => number.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_those_of_the_medium_in_use() {
        for (media, speed) in [
            ("Ethernet autoselect (10Gbase-SR <full-duplex>)", Some(10_000)),
            ("Ethernet 1000baseT <full-duplex>", Some(1000)),
            ("Ethernet 10Gbase-T (100baseTX <full-duplex>)", Some(100)),
            ("Ethernet autoselect (100GBase-CR4 <full-duplex,rxpause>)", Some(100_000)),
            ("Ethernet autoselect (none)", None),
            ("Ethernet autoselect", None),
            ("Ethernet 4294967295Gbase-X", None),
        ] {
            let one = Ifconfig { media: Some(media.to_owned()), ..Ifconfig::default() };
            assert_eq!(one.speed(), speed, "{media}");
        }
    }

    /// Regression: of a block that a mail had wrapped the flags were lost without a word.
    #[test]
    fn sets_that_were_wrapped_are_put_together() {
        let text = "oce0: flags=8843<UP,BROADCAST,\nRUNNING,SIMPLEX,MULTICAST> metric 0 mtu 9000\n\
                    \toptions=507bb<RXCSUM,TXCSUM,VLAN_MTU,VLAN_HWTAGGING,\n   JUMBO_MTU,VLAN_HWCSUM,TSO4,TSO6,LRO,\n\
                    VLAN_HWFILTER,VLAN_HWTSO>\n\tether 02:00:c9:00:00:10\n\tcapabilities=3<RXCSUM,\n\tmedia: Ethernet autoselect\n\
                    lo0: flags=8049<UP,LOOPBACK metric 0 mtu 16384\n";
        let all = Ifconfig::parse(text);
        let one = &all[0];
        assert!(one.has("MULTICAST") && one.mtu == Some(9000), "{one:?}");
        let options = one.options.as_ref().unwrap();
        assert_eq!((options.names.len(), options.bit("VLAN_HWTSO")), (11, Some(18)));
        assert_eq!(one.ether.as_deref(), Some("02:00:c9:00:00:10"));
        // What has no end is told.
        assert_eq!((one.media.is_some(), &one.broken[..]), (true, &["capabilities=3<RXCSUM,".to_owned()][..]));
        assert_eq!((all[1].flags.as_ref(), all[1].broken.len()), (None, 1));
    }

    #[test]
    fn what_is_enabled_stands_among_what_there_is() {
        let text = "x0: flags=8802<BROADCAST,SIMPLEX,MULTICAST> metric 0 mtu 1500\n\
                    \toptions=80002<TXCSUM,LINKSTATE>\n\tcapabilities=103<RXCSUM,TXCSUM,TSO4>\n";
        let all = Ifconfig::parse(text).remove(0).offloads();
        let rows: Vec<_> = all.iter().map(|one| (one.name.as_str(), one.bit, one.enabled)).collect();
        let wanted = [
            ("RXCSUM", Some(0), false),
            ("TXCSUM", Some(1), true),
            ("TSO4", Some(8), false),
            ("LINKSTATE", Some(19), true),
        ];
        assert_eq!(rows, wanted);
    }
}
