//! Values for rules: an interface and its counters, read twice, and files of the machine.

use super::finding::{Evidence, Finding, Load, Severity};
use super::intent::{MEANT, TUNNELS};
use super::network::{NOTHING, Network};
use super::peer::Probed;
use super::role::Role;
use super::rule::Scope;
use super::side::LinkEnd;
use linerate_host::adapter::{
    self, Adapter, Address, Amount, Counters, Filter, Interface, Neighbour, PciLink, Qdisc, Route, Source,
};
use linerate_host::shell::{operand, quoted, word};
use linerate_host::tunables::Value;
use linerate_host::{Absent, Feature};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::str::FromStr;

/// An interface and the machine, as they were read.
pub struct View<'a> {
    files: &'a dyn Source,
    pub adapter: Adapter,
    /// Its counters, and those some time later.
    pub counters: [Counters; 2],
    /// All interfaces.
    pub interfaces: &'a [Interface],
    pub loads: &'a [Load],
    /// Speed of the fastest link that is looked at, Mb/s.
    pub(super) fastest: u32,
    /// The peer that was named.
    pub peer: Option<Probed>,
    /// Name of the interface by which that is reached; none without one.
    pub(super) way: String,
    /// The interface of the other end.
    pub remote: Option<LinkEnd>,
    pub(super) network: &'a Network,
    /// Roles of the machine, with what shows them.
    pub(super) roles: Vec<(Role, Evidence)>,
    /// Files with counters of protocols, as they were at first.
    pub(super) earlier: BTreeMap<&'static str, String>,
}

/// A counter that is not zero.
#[derive(PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) name: String,
    pub(super) value: u64,
    pub(super) more: u64,
}

/// Least losses that are a share, and frames of which one is; of damaged frames, of which a link has one in 10^8 at most.
const ENOUGH: u64 = 100;
const SHARE: u64 = 1000;
const UNKNOWN: u64 = 100_000;
const TAP: [u64; 2] = [100_000, 100];
const DAMAGED: [u64; 2] = [1000, 1_000_000];
/// Offloads, and those without which the kernel keeps them off (netdev_fix_features).
const NEEDS: &[(&str, &[&str])] = &[
    ("tx-scatter-gather", SUMS),
    ("tx-generic-segmentation", &["tx-scatter-gather"]),
    ("tx-tcp-segmentation", &["tx-scatter-gather"]),
];
const SUMS: &[&str] = &["tx-checksum-ip-generic", "tx-checksum-ipv4"];
/// Drivers that leave these offloads off by themselves, as some of their chips hang with them.
const CAREFUL: (&[&str], &[&str]) =
    (&["r8169"], &["tx-scatter-gather", "tx-tcp-segmentation", "tx-generic-segmentation", "tx-checksum-ip-generic"]);

/// True if so few of what passed meanwhile were lost that nothing is wrong: at the bit error rate that IEEE 802.3 allows, 10^-12, one
/// in 8 * 10^7 of the longest frames is damaged.
pub(super) fn is_usual(lost: u64, passed: u64, few: u64) -> bool {
    let one_in = if lost == 1 { 100_000 } else { 1_000_000 };
    lost <= few || lost.saturating_mul(one_in) <= passed
}

/// True if an interface is a tunnel, which sends to addresses instead of over a link.
pub(super) fn is_tunnel(one: &Interface) -> bool {
    one.kind.as_deref().is_some_and(|kind| TUNNELS.contains(&kind))
}

fn told(absent: &Absent) -> String {
    absent.to_string()
}

/// The part of an adapter, or the reason why it is not there.
pub(super) fn have<T>(part: &Result<T, Absent>) -> Result<&T, String> {
    part.as_ref().map_err(told)
}

/// The number of a kind of queue or ring.
pub(super) fn amount<'a>(all: &'a [Amount], name: &str) -> Option<&'a Amount> {
    all.iter().find(|amount| amount.name == name)
}

/// Processors in a list (`0-3,8`).
pub(super) fn processors(list: &str) -> BTreeSet<u32> {
    let one = |part: &str| -> Option<std::ops::RangeInclusive<u32>> {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        (first <= last && last < 1 << 16).then_some(first..=last)
    };
    list.split(',').filter_map(one).flatten().collect()
}

/// Speed of a device's link, Mb/s.
pub(super) fn speed(adapter: &Adapter) -> Option<u32> {
    let driven = adapter.interface.kind.is_none() && adapter.driver.as_ref().is_ok_and(|driver| driver.name.is_some());
    let is_hardware = adapter.interface.device.is_some() || adapter.device.is_ok() || driven;
    // Software has a speed, and no modes to choose from.
    let modes = adapter.modes.as_ref().ok()?;
    modes.speed.filter(|_| is_hardware || !modes.supported.is_empty())
}

/// A counter's name in the form of families: drivers write it in capitals, with the place that counts (`port.`, `.nic`), and with the
/// number of a queue (`[3]: `, `rx_queue_3_`, `rxq3: `), for which a star stands.
pub(super) fn family(name: &str) -> String {
    let name = name.to_ascii_lowercase().replace('-', "_");
    let name = name.strip_prefix("port.").unwrap_or(&name);
    // Of the card it is another loss than the kernel's.
    let name = name.strip_suffix(".nic").filter(|name| *name != "rx_dropped").unwrap_or(name);
    let (mut form, mut rest) = (String::new(), name);
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let digits = rest[at..].bytes().take_while(u8::is_ascii_digit).count();
        let (before, behind) = (form.clone() + &rest[..at], &rest[at + digits..]);
        let is_queue = (before.is_empty() || before.ends_with(['_', '[', 'q', 'x', ' ']))
            && behind.starts_with(['_', '.', ':', ']', ' ']);
        form = before + if is_queue { "*" } else { &rest[at..at + digits] };
        rest = behind;
    }
    form + rest
}

/// File of a sysctl, whose name has dots or slashes.
pub(super) fn sysctl_path(name: &str) -> String {
    let path = if name.contains('/') { name.to_owned() } else { name.replace('.', "/") };
    format!("proc/sys/{path}")
}

impl<'a> View<'a> {
    #[must_use]
    pub fn new(
        files: &'a dyn Source,
        adapter: Adapter,
        counters: [Counters; 2],
        interfaces: &'a [Interface],
        loads: &'a [Load],
    ) -> Self {
        let (earlier, network) = (BTreeMap::new(), &NOTHING);
        Self {
            files,
            adapter,
            counters,
            interfaces,
            loads,
            fastest: 0,
            peer: None,
            way: String::new(),
            remote: None,
            network,
            roles: Vec::new(),
            earlier,
        }
    }

    #[must_use]
    pub fn subject(&self, scope: Scope) -> String {
        match scope {
            Scope::Interface | Scope::Ends | Scope::Freebsd => self.name().to_owned(),
            Scope::Host => "host".to_owned(),
            Scope::Peer => self.peer.as_ref().map_or_else(String::new, |probed| probed.peer.to_string()),
        }
    }

    /// Answers of the peer.
    pub(super) fn probed(&self) -> Result<&Probed, String> {
        let probed = self.peer.as_ref().ok_or_else(|| "no --peer was given".to_owned())?;
        if probed.refused.is_some() { Err("there is no way to it".to_owned()) } else { Ok(probed) }
    }

    /// The two ends: this interface, and the other one.
    pub(super) fn ends(&self) -> Result<[LinkEnd; 2], String> {
        let remote = self.remote.clone().ok_or_else(|| "no --remote was given".to_owned())?;
        Ok([LinkEnd::of(&self.adapter), remote])
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.adapter.interface.name
    }

    /// Its name as a word of a command line.
    pub(super) fn typed(&self) -> String {
        word(self.name())
    }

    /// A command that shows modes and speed of its link.
    pub(super) fn link_modes(&self) -> String {
        match self.name().starts_with('-') {
            // ethtool(8) would take it for an option.
            true => format!("linerate nic show {}", operand(self.name())),
            false => format!("ethtool {}", self.typed()),
        }
    }

    pub(super) fn interface(&self) -> &Interface {
        &self.adapter.interface
    }

    pub(super) fn is_up(&self) -> bool {
        self.has_flag("UP")
    }

    pub(super) fn has_flag(&self, flag: &str) -> bool {
        self.interface().flags.contains(&flag)
    }

    pub(super) fn is_tunnel(&self) -> bool {
        is_tunnel(self.interface())
    }

    /// True if it stands on a device, rather than on software alone.
    pub(super) fn is_hardware(&self) -> bool {
        let has_modes = || self.adapter.modes.as_ref().is_ok_and(|modes| !modes.supported.is_empty());
        // Software is of a kind; of a part of the text the driver's name is there.
        let driven = || self.interface().kind.is_none() && self.driver().is_some();
        self.interface().device.is_some() || self.adapter.device.is_ok() || has_modes() || driven()
    }

    /// Name of the interface with this index.
    pub(super) fn named(&self, index: u32) -> Option<&Interface> {
        self.interfaces.iter().find(|one| one.index == index)
    }

    /// True if one of these loads was named.
    pub(super) fn wants(&self, loads: &[Load]) -> bool {
        self.loads.iter().any(|load| loads.contains(load))
    }

    /// A note, or a warning if one of these loads was named.
    pub(super) fn graver_for(&self, loads: &[Load]) -> Severity {
        if self.wants(loads) { Severity::Warning } else { Severity::Note }
    }

    /// A warning if no load was named or one of these, else a note.
    pub(super) fn unless_others(&self, loads: &[Load]) -> Severity {
        if self.loads.is_empty() || self.wants(loads) { Severity::Warning } else { Severity::Note }
    }

    pub(super) fn addresses(&self) -> Result<Vec<&Address>, String> {
        Ok(have(&self.network.addresses)?.iter().filter(|one| one.link == self.interface().index).collect())
    }

    pub(super) fn neighbours(&self) -> Result<Vec<&Neighbour>, String> {
        Ok(have(&self.network.neighbours)?.iter().filter(|one| one.link == self.interface().index).collect())
    }

    /// Routes of all interfaces.
    pub(super) fn routes(&self) -> Result<&[Route], String> {
        Ok(have(&self.network.routes)?)
    }

    /// Queueing disciplines of the interface, the root first.
    pub(super) fn qdiscs(&self) -> Result<Vec<&Qdisc>, String> {
        Ok(have(&self.network.qdiscs)?.iter().filter(|one| one.link == self.interface().index).collect())
    }

    /// Filters of traffic control at the interface.
    pub(super) fn filters(&self) -> Result<&[Filter], String> {
        self.network.filters.get(&self.interface().index).map_or(Ok(&[][..]), |some| have(some).map(Vec::as_slice))
    }

    pub(super) fn feature(&self, name: &str) -> Result<Option<Feature>, String> {
        Ok(have(&self.adapter.features)?.0.get(name).copied())
    }

    /// A feature that is off and could be on: what it needs is not off for good.
    pub(super) fn is_needlessly_off(&self, name: &str) -> Result<bool, String> {
        Ok(self.feature(name)?.is_some_and(|feature| !feature.active && feature.changeable)
            && self.could_be_on(name)?)
    }

    /// True unless the adapter has none of what a feature needs.
    pub(super) fn could_be_on(&self, name: &str) -> Result<bool, String> {
        let all = have(&self.adapter.features)?;
        let Some((_, needs)) = NEEDS.iter().find(|(one, _)| *one == name) else { return Ok(true) };
        let told: Vec<_> = needs.iter().filter_map(|need| Some((*need, all.0.get(*need)?))).collect();
        let can =
            |(need, one): &(&str, &Feature)| one.active || one.changeable && self.could_be_on(need).unwrap_or(true);
        Ok(told.is_empty() || told.iter().any(can))
    }

    /// Name of the driver, if it is told.
    pub(super) fn driver(&self) -> Option<&str> {
        let device = self.adapter.device.as_ref().ok().and_then(|device| device.driver.as_deref().ok());
        device.or_else(|| self.adapter.driver.as_ref().ok()?.name.as_deref())
    }

    /// True if its driver leaves offloads off by itself.
    pub(super) fn is_careful(&self) -> bool {
        self.driver().is_some_and(|driver| CAREFUL.0.contains(&driver))
    }

    /// True for an interface of mac80211, which has queues of its own.
    pub(super) fn is_wireless(&self, name: &str) -> bool {
        name.starts_with("wl") || self.names(&format!("sys/class/net/{name}")).iter().any(|one| one == "phy80211")
    }

    /// True if the machine is a virtual one.
    pub(super) fn is_guest(&self) -> bool {
        let flags = self.file("proc/cpuinfo").unwrap_or_default();
        flags.lines().any(|line| line.starts_with("flags") && line.split_whitespace().any(|flag| flag == "hypervisor"))
    }

    /// Lines of the kernel's log that have all of these words in them.
    pub(super) fn logged(&self, words: &[&str]) -> Vec<String> {
        let text = self.file("var/log/dmesg").unwrap_or_default();
        text.lines().filter(|line| words.iter().all(|word| line.contains(word))).map(str::to_owned).collect()
    }

    /// True if the driver runs without its package, and has no offloads and one queue by that (ice).
    pub(super) fn is_crippled(&self) -> bool {
        self.driver() == Some("ice") && !self.logged(&["Entering Safe Mode"]).is_empty()
    }

    /// A warning, or a note about an interface whose offloads the program at its other end chooses (TUNSETOFFLOAD).
    pub(super) fn graver_than_program(&self) -> Severity {
        if self.interface().kind.as_deref() == Some("tun") { Severity::Note } else { Severity::Warning }
    }

    /// A finding about an offload that is off and could be on.
    pub(super) fn off(&self, feature: &str, short: &str, gain: &str) -> Result<Vec<Finding>, String> {
        if !self.is_needlessly_off(feature)? || self.is_crippled() {
            return Ok(Vec::new());
        }
        let (name, typed) = (self.name(), self.typed());
        if self.interface().kind.as_deref() == Some("tun") {
            let what = format!("{feature} is off: the program that has it open asked for no more");
            return Finding::new(Severity::Note, what)
                .seen(format!("{feature} off"), format!("ethtool -k {typed}"))
                .mend("let that program offer it (TUNSETOFFLOAD, and IFF_VNET_HDR)")
                .gain(gain)
                .alone();
        }
        if self.is_careful() && CAREFUL.1.contains(&feature) {
            return Finding::new(Severity::Note, format!("{feature} is off, as its driver leaves it by itself"))
                .seen(
                    format!("{feature} off, driver {}", self.driver().unwrap_or_default()),
                    format!("ethtool -k {typed}"),
                )
                .mend(format!(
                    "{MEANT}ethtool -K {typed} {short} on, with a console at hand: some of its chips hang with it"
                ))
                .alone();
        }
        // At a tunnel somebody has switched it off, for adapters that make wrong checksums of what is inside.
        let severity = if self.is_tunnel() { Severity::Note } else { Severity::Warning };
        Finding::new(severity, format!("{feature} is off, and can be switched on"))
            .seen(format!("{feature} off"), format!("ethtool -k {typed}"))
            .mend(format!("ethtool -K {typed} {short} on"))
            .sets(name, feature, Value::On(true))
            .gain(gain)
            .alone()
    }

    /// Number of interfaces whose devices are functions of the adapter's card.
    fn ports(&self) -> f64 {
        let card = |name: &str| {
            let real = self.files.real(&format!("sys/class/net/{name}/device")).ok()?;
            Some(real.rsplit_once('.')?.0.to_owned())
        };
        let own = card(self.name());
        let ports = self.interfaces.iter().filter(|one| own.is_some() && card(&one.name) == own).count();
        ports.max(1) as f64
    }

    /// A finding about the PCIe link of the adapter, of which a number is below the most that the card has.
    pub(super) fn slow_pci(
        &self,
        file: &str,
        numbers: fn(&PciLink) -> [f64; 2],
        shown: fn(f64) -> String,
    ) -> Result<Vec<Finding>, String> {
        let pci = have(&have(&self.adapter.device)?.pci)?;
        let link = have(&pci.link)?;
        let [now, most] = numbers(link);
        if now >= most {
            return Ok(Vec::new());
        }
        let (now, most, address) = (shown(now), shown(most), word(&pci.address));
        let (best, rate) = (link.gigabits_most(), link.gigabits());
        // Headers take a seventh at most, with 128 bytes in each packet of the bus.
        let carries = |speed| f64::from(speed) * self.ports() < rate * 6.0 / 7.0 * 1000.0;
        let enough = self.speed().is_some_and(carries);
        let severity = if enough { Severity::Note } else { Severity::Warning };
        Finding::new(severity, format!("the PCIe link is {now}, the card can {most}"))
            .seen(format!("{now} of {most}"), format!("/sys/bus/pci/devices/{address}/{file}"))
            .mend(format!("another slot, or the card seated anew; see LnkCap and LnkSta of lspci -vv -s {address}"))
            .gain(format!("{best:.0} Gb/s instead of {rate:.0} to memory, each way"))
            .alone()
    }

    /// Counters of these families (`a|b`) that are not zero; those of queues are one, their sum.
    pub(super) fn counted(&self, names: &str) -> Vec<Counted> {
        let names: Vec<String> = names.split('|').map(family).collect();
        let mut all: Vec<Counted> = Vec::new();
        let [before, after] = &self.counters;
        for group in &after.groups {
            for (name, value) in group.rows.iter().filter(|(_, value)| *value > 0) {
                let form = family(name);
                if !names.contains(&form) {
                    continue;
                }
                let earlier =
                    before.groups.iter().find(|one| one.name == group.name).and_then(|one| one.rows.get(name));
                let more = earlier.map_or(0, |earlier| value.saturating_sub(earlier));
                if let Some(sum) = all.iter_mut().find(|one| form.contains('*') && one.name == form) {
                    (sum.value, sum.more) = (sum.value.saturating_add(value), sum.more.saturating_add(more));
                    continue;
                }
                let name = if form.contains('*') { form } else { name.to_owned() };
                let one = Counted { name, value, more };
                // Of several lists of the driver's, each may have it.
                if !all.contains(&one) {
                    all.push(one);
                }
            }
        }
        all
    }

    /// True if nothing grew between the two readings, as of a host that was read once.
    pub(super) fn is_once(&self) -> bool {
        self.counters[0] == self.counters[1]
    }

    /// Losses by their share of what has passed, if nothing passed while it was looked at, as of a host that was read once.
    fn share(&self, one: &Counted) -> Option<f64> {
        let after = &self.counters[1];
        // Frames of protocols that nobody speaks, and what is usual on a shared link; software drops by itself what it has no use for.
        let other = one.name == "rx_dropped" || one.name.to_ascii_lowercase().contains("collision");
        let name = family(&one.name);
        let way = if name.starts_with("tx") { "tx" } else { "rx" };
        let all = |what: &str| {
            let name = format!("{way}_{what}");
            let of = after.groups.iter().filter_map(move |group| Some((group.name.as_str(), group.rows.get(&name)?)));
            of.filter(|(_, passed)| *passed > 0).collect::<Vec<_>>()
        };
        let most = |what: &str| all(what).iter().map(|(_, passed)| *passed).max();
        let link = all("packets").iter().find(|(name, _)| *name == "link").map(|(_, passed)| *passed);
        // A link is paused for all of its frames; the kernel does not see those that go by RDMA.
        let wire = ["packets_phy", "vport_rdma_unicast_packets", "pkts_nic"].map(most).into_iter().max().flatten();
        // `rx_prio3_pause` is of `rx_prio3_packets`.
        let own = name.strip_suffix("_pause").map(|start| format!("{start}_packets"));
        let own = own.and_then(|own| after.groups.iter().find_map(|group| group.rows.get(&own)));
        let kernels = own.or(link).or_else(|| most("packets"));
        let of_wire = kernels.is_none() || one.name.contains("pause") || one.name.contains("flow_control");
        let passed = kernels.max(wire.filter(|_| of_wire));
        // A guest that runs, and takes less than comes for it.
        let tap =
            self.interface().kind.as_deref() == Some("tun") && one.name == "tx_dropped" && self.has_flag("RUNNING");
        let is_damage = ["crc", "framecheck", "symbol", "fcs", "frame_errors", "align", "rx_errors"]
            .iter()
            .any(|word| name.contains(word));
        let [least, share] = if is_damage {
            DAMAGED
        } else if tap {
            TAP
        } else {
            [ENOUGH, SHARE]
        };
        // A text may tell a counter twice; what has passed did not grow in it.
        let grown = ["rx_packets", "tx_packets"].iter().any(|name| self.counted(name).iter().any(|one| one.more > 0));
        let counts = !grown && !other && (self.interface().kind.is_none() || tap);
        match passed.filter(|_| counts) {
            Some(passed) if one.value >= least && one.value.saturating_mul(share) >= passed => {
                Some(one.value as f64 / passed as f64)
            }
            Some(_) => None,
            // Of a part of the text no share is known; so many are more than the start of a link.
            None => (counts && one.value >= UNKNOWN).then_some(0.0),
        }
    }

    /// A finding about counters that ought to be zero: a warning if they grow by more than `few` and more than is usual, or are a
    /// thousandth of all where nothing grows, else a note.
    pub(super) fn losses(&self, names: &str, few: u64, what: &str) -> Option<Finding> {
        let counted = self.counted(names);
        let passed = |name: &str| self.counted(name).first().map_or(0, |one| one.more);
        let [sent, received] = ["tx_packets", "rx_packets"].map(passed);
        let grows = |one: &Counted| !is_usual(one.more, if one.name.starts_with("tx") { sent } else { received }, few);
        let grows = counted.iter().any(grows);
        let shares: Vec<f64> = counted.iter().filter_map(|one| self.share(one)).collect();
        let share = shares.iter().copied().fold(0.0, f64::max);
        let severity = if grows || !shares.is_empty() { Severity::Warning } else { Severity::Note };
        let when = match grows {
            true => " now".to_owned(),
            false if share >= 0.001 => format!(": {:.1} of 100 frames since the interface was made", 100.0 * share),
            false if share > 0.0 => format!(": {:.1} of a million frames since the interface was made", 1e6 * share),
            false => " since the interface was made".to_owned(),
        };
        let first = Finding::new(severity, format!("{what}{when}"));
        let read = format!("ethtool -S {0}, ip -s -s link show dev {0}", self.typed());
        (!counted.is_empty()).then(|| {
            counted.iter().take(4).fold(first, |finding, one| {
                finding.seen(format!("{} {} (+{} while it was looked at)", one.name, one.value, one.more), read.clone())
            })
        })
    }

    /// Text of a file; the reason if it cannot be read.
    pub(super) fn file(&self, path: &str) -> Result<String, String> {
        let bytes = self.bytes(path)?;
        Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// Names in a folder; none if there is no such folder.
    pub(super) fn names(&self, path: &str) -> Vec<String> {
        self.files.names(path).unwrap_or_default()
    }

    /// Number in a file.
    pub(super) fn number<T: FromStr>(&self, path: &str) -> Result<T, String> {
        let text = self.file(path)?;
        text.parse().map_err(|_| format!("/{path}: {text:?} is no number"))
    }

    /// No fault of a host that lacks what others have; the reason, if nothing like it is told.
    pub(super) fn lacks(&self, why: String) -> Result<Vec<Finding>, String> {
        if self.names("proc/sys").is_empty() { Err(why) } else { Ok(Vec::new()) }
    }

    pub(super) fn sysctl(&self, name: &str) -> Result<String, String> {
        self.file(&sysctl_path(name))
    }

    pub(super) fn sysctl_numbers(&self, name: &str) -> Result<Vec<u64>, String> {
        Ok(self.sysctl(name)?.split_whitespace().filter_map(|word| word.parse().ok()).collect())
    }

    /// First number of a sysctl.
    pub(super) fn sysctl_number(&self, name: &str) -> Result<u64, String> {
        self.sysctl_numbers(name)?.first().copied().ok_or_else(|| format!("{name} has no number"))
    }

    /// Name of a sysctl of the interface: with slashes, as sysctl(8) takes them, if the interface's own name has dots.
    pub(super) fn own_sysctl(&self, group: &str, key: &str) -> String {
        let name = self.name();
        match name.contains('.') {
            true => format!("{}/{name}/{key}", group.replace('.', "/")),
            false => format!("{group}.{name}.{key}"),
        }
    }

    /// A finding about a sysctl whose value is to be another one.
    pub(super) fn set(&self, severity: Severity, name: &str, now: impl Display, to: impl Display) -> Finding {
        Finding::new(severity, format!("{name} is {now}"))
            .seen(format!("{name} = {now}"), format!("sysctl {}", word(name)))
            .mend(format!("sysctl -w {}={}", word(name), quoted(to.to_string())))
            .writes(sysctl_path(name), to.to_string())
    }

    /// Line to be typed, with twice what is set where its number would lower that.
    pub(super) fn raised(&self, mend: &str) -> String {
        let word = |word: &str| {
            let (name, to) =
                word.trim_end_matches([',', ';']).split_once('=').filter(|(name, _)| name.contains('.'))?;
            let (to, now) = (to.parse::<u64>().ok().filter(|to| *to >= 1000)?, self.sysctl_number(name).ok()?);
            (now >= to).then(|| word.replace(&to.to_string(), &now.saturating_mul(2).to_string()))
        };
        mend.split(' ').map(|one| word(one).unwrap_or_else(|| one.to_owned())).collect::<Vec<_>>().join(" ")
    }

    /// Processors that are online.
    pub(super) fn online(&self) -> Result<BTreeSet<u32>, String> {
        self.file("sys/devices/system/cpu/online").map(|list| processors(&list))
    }

    /// Processors that are not kept for single programs (isolcpus).
    pub(super) fn shared(&self) -> Result<BTreeSet<u32>, String> {
        let told = self.file("sys/devices/system/cpu/isolated").or_else(|_| {
            let line = self.file("proc/cmdline")?;
            let word = line.split_whitespace().find_map(|word| word.strip_prefix("isolcpus="));
            word.map(str::to_owned).ok_or_else(String::new)
        });
        let (online, isolated) = (self.online()?, processors(&told.unwrap_or_default()));
        let shared: BTreeSet<u32> = online.difference(&isolated).copied().collect();
        Ok(if shared.is_empty() { online } else { shared })
    }

    /// True if a link that is looked at has so many Mb/s.
    pub(super) fn has_speed(&self, least: u32) -> bool {
        self.fastest.max(self.speed().unwrap_or(0)) >= least
    }

    /// Bytes of a file; the reason if it cannot be read.
    pub(super) fn bytes(&self, path: &str) -> Result<Vec<u8>, String> {
        self.files.file(path).map_err(|e| format!("/{path}: {e}"))
    }

    /// Speed of the link, Mb/s, if it is a device's that has one.
    pub(super) fn speed(&self) -> Option<u32> {
        speed(&self.adapter)
    }

    /// Reads an interface and its counters, twice, so that what grows is seen.
    ///
    /// # Errors
    /// There is no such interface, or it went while it was read.
    pub fn read(source: &mut dyn Source, name: &str, pause: impl FnOnce()) -> Result<(Adapter, [Counters; 2]), String> {
        let wrong = |absent: Absent| format!("{name}: {absent}; see the names in 'linerate nic list'");
        let interface = adapter::find(source, name).map_err(wrong)?;
        let before = adapter::counters(source, &interface).map_err(wrong)?;
        let adapter = adapter::read(source, interface.clone());
        pause();
        let after = adapter::counters(source, &interface).map_err(wrong)?;
        Ok((adapter, [before, after]))
    }
}
