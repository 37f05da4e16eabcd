//! Intent: values that somebody has chosen, by a file that gives them at each start, or at a tunnel, whose offloads are off only
//! if somebody switched them off. What is meant is told, and never changed.

use super::configured::{covers, is_same, sysctls};
use super::finding::{Evidence, Finding, Severity};
use super::fix::Mend;
use super::knob::Knob;
use super::view::View;
use linerate_host::adapter::Interface;
use linerate_host::shell::word;
use linerate_host::tunables::Value;

/// Folders, and ends of the names of their files, in which interfaces are set up: systemd.link(5), systemd.network(5), netplan(5),
/// nm-settings-keyfile(5), ifcfg, interfaces(5), udev(7), systemd.service(5), and scripts.
const PLACES: &[(&[&str], &str)] = &[
    (
        &["etc/systemd/network", "run/systemd/network", "usr/local/lib/systemd/network", "usr/lib/systemd/network"],
        ".link",
    ),
    (&["etc/systemd/network", "run/systemd/network"], ".network"),
    (&["etc/netplan", "run/netplan"], ".yaml"),
    (
        &[
            "etc/NetworkManager/system-connections",
            "run/NetworkManager/system-connections",
            "usr/lib/NetworkManager/system-connections",
        ],
        ".nmconnection",
    ),
    (&["etc/sysconfig/network-scripts", "etc/sysconfig/network", "etc/network/interfaces.d", "etc/network"], ""),
    (&["etc/udev/rules.d", "run/udev/rules.d", "usr/local/lib/udev/rules.d", "usr/lib/udev/rules.d"], ".rules"),
    (&["etc/systemd/system", "run/systemd/system", "usr/local/lib/systemd/system"], ".service"),
    (
        &[
            "etc/network/if-pre-up.d",
            "etc/network/if-up.d",
            "etc/NetworkManager/dispatcher.d",
            "etc/networkd-dispatcher/routable.d",
            "etc/networkd-dispatcher/configured.d",
        ],
        "",
    ),
];
const SCRIPTS: &[&str] = &["etc/rc.local", "etc/rc.d/rc.local"];

/// Keys of addresses for which a file is.
const MACS: [&str; 3] = ["macaddress", "permanentmacaddress", "mac-address"];

/// A setting, the options and words by which `ethtool` sets it, and its keys in files, of which those of NetworkManager and
/// interfaces(5) are also these words behind `feature-` and `offload-`.
struct Named(&'static str, &'static [&'static str], &'static [&'static str], &'static [&'static str]);

const FEATURES: &[&str] = &["-K", "--offload", "--features"];
const RINGS: &[&str] = &["-G", "--set-ring"];
const COALESCE: &[&str] = &["-C", "--coalesce"];
const CHANNELS: &[&str] = &["-L", "--set-channels"];
/// Not of ethtool, but of `ip link set`.
const OF_IP: &[&str] = &["set"];

const SETTINGS: &[Named] = &[
    Named(
        "tx-checksum-ip-generic",
        FEATURES,
        &["tx", "tx-checksumming", "tx-checksum-ip-generic"],
        &["transmitchecksumoffload", "transmit-checksum-offload"],
    ),
    Named(
        "rx-checksum",
        FEATURES,
        &["rx", "rx-checksumming", "rx-checksum"],
        &["receivechecksumoffload", "receive-checksum-offload"],
    ),
    Named("tx-scatter-gather", FEATURES, &["sg", "scatter-gather", "tx-scatter-gather"], &[]),
    Named(
        "tx-tcp-segmentation",
        FEATURES,
        &["tso", "tcp-segmentation-offload", "tx-tcp-segmentation"],
        &["tcpsegmentationoffload", "tcp-segmentation-offload"],
    ),
    Named(
        "tx-generic-segmentation",
        FEATURES,
        &["gso", "generic-segmentation-offload", "tx-generic-segmentation"],
        &["genericsegmentationoffload", "generic-segmentation-offload"],
    ),
    Named(
        "rx-gro",
        FEATURES,
        &["gro", "generic-receive-offload", "rx-gro"],
        &["genericreceiveoffload", "generic-receive-offload"],
    ),
    Named(
        "rx-vlan-hw-parse",
        FEATURES,
        &["rxvlan", "rx-vlan-offload", "rx-vlan-hw-parse"],
        &["receivevlanctaghardwareacceleration"],
    ),
    Named("ring-rx", RINGS, &["rx"], &["rxbuffersize", "ring-rx", "hardware-dma-ring-rx"]),
    Named(
        "rx-usecs",
        COALESCE,
        &["rx-usecs"],
        &["rxcoalescesec", "coalesce-rx-usecs", "hardware-irq-coalesce-rx-usecs"],
    ),
    Named("combined", CHANNELS, &["combined"], &["combinedchannels", "channels-combined"]),
    Named("channels-rx", CHANNELS, &["rx"], &["rxchannels", "channels-rx"]),
    Named("channels-tx", CHANNELS, &["tx"], &["txchannels", "channels-tx"]),
    Named("eee", &["--set-eee"], &["eee"], &["eee-enabled"]),
    Named("mtu", OF_IP, &["mtu"], &["mtubytes", "mtu"]),
    Named("gso-max-size", OF_IP, &["gso_max_size"], &["genericsegmentoffloadmaxbytes"]),
    Named("gso-max-segs", OF_IP, &["gso_max_segs"], &["genericsegmentoffloadmaxsegments"]),
];

/// A finding without changes, and as a note at most, if what they would change is meant.
pub(super) fn respected(finding: Finding, rule: &str, view: &View<'_>) -> Finding {
    let shaped = || if rule == "shaped" { shaped(view) } else { None };
    let Some(evidence) = finding.fix.iter().find_map(|mend| meant(view, mend)).or_else(shaped) else { return finding };
    finding.meant(evidence)
}

/// A file that gives the interface a queueing discipline by tc(8).
fn shaped(view: &View<'_>) -> Option<Evidence> {
    let mut all = files(view);
    // What units start.
    let started: Vec<String> = all
        .iter()
        .flat_map(|(_, text)| text.lines())
        .filter_map(|line| line.trim().strip_prefix("ExecStart=")?.split_whitespace().next())
        .filter(|path| ["/usr/local/", "/etc/", "/opt/"].iter().any(|start| path.starts_with(start)))
        .map(|path| path[1..].to_owned())
        .collect();
    all.extend(started.into_iter().filter_map(|path| Some((path.clone(), view.file(&path).ok()?))));
    all.into_iter().find_map(|(path, text)| {
        let names = || text.split(|c: char| c.is_whitespace() || "\"';=".contains(c)).any(|word| word == view.name());
        let gives = |line: &&str| {
            let words: Vec<&str> = line
                .split(|c: char| c.is_whitespace() || "\"';=".contains(c))
                .filter(|word| !word.is_empty())
                .collect();
            let is_tc = words.iter().any(|word| *word == "tc" || word.ends_with("/tc"));
            !line.trim_start().starts_with('#')
                && is_tc
                && words.contains(&"qdisc")
                && words
                    .windows(2)
                    .any(|pair| pair[0] == "dev" && (pair[1] == view.name() || pair[1].starts_with('$') && names()))
        };
        let line = text.lines().find(gives)?.trim().to_owned();
        Some(Evidence { value: line, read: format!("/{path}") })
    })
}

/// Beginning of what is to be typed about what may be meant.
pub(super) const MEANT: &str = "nothing, if it is meant so; otherwise: ";

impl Finding {
    /// Says where it was chosen. Then it is a note, and nothing is changed by itself.
    pub(super) fn meant(mut self, evidence: Evidence) -> Self {
        self.severity = Severity::Note;
        self.fix.clear();
        let bare = |mend: String| mend.strip_prefix(MEANT).map_or(mend.clone(), str::to_owned);
        self.mend = self.mend.map(bare).map(|mend| format!("nothing, if it is meant so; otherwise there, too: {mend}"));
        self.evidence.push(evidence);
        self
    }
}

/// Place at which another value was chosen than a change would make.
pub(super) fn meant(view: &View<'_>, mend: &Mend) -> Option<Evidence> {
    match &mend.knob {
        Knob::File(path) => of_sysctl(view, path.strip_prefix("proc/sys/")?, &mend.to.to_string()),
        Knob::Setting { interface, name } => {
            let of = view.interfaces.iter().find(|one| one.name == *interface).unwrap_or(view.interface());
            let named = SETTINGS.iter().find(|one| one.0 == name)?;
            files(view)
                .into_iter()
                .find_map(|(path, text)| {
                    let (line, value) = given(&text, &path, named, of)?;
                    let read = format!("/{path}");
                    (!is_one(&value, &mend.to)).then(|| Evidence { value: line.trim().to_owned(), read })
                })
                .or_else(|| at_tunnel(of, name, &mend.to))
        }
    }
}

/// An offload of a tunnel that somebody has switched off: drivers that count checksums of what is encapsulated wrongly are got
/// round so.
fn at_tunnel(of: &Interface, name: &str, to: &Value) -> Option<Evidence> {
    let kind = of.kind.as_deref().filter(|kind| TUNNELS.contains(kind))?;
    let value = format!("{name} is off at a tunnel ({kind}), where it is on unless somebody switches it off");
    (*to == Value::On(true)).then(|| Evidence { value, read: format!("ethtool -k {}", word(&of.name)) })
}

/// Kinds of interfaces that send to addresses instead of over a link.
pub(super) const TUNNELS: [&str; 12] = [
    "vxlan",
    "geneve",
    "gre",
    "gretap",
    "ipip",
    "sit",
    "ip6tnl",
    "ip6gre",
    "ip6gretap",
    "erspan",
    "wireguard",
    "bareudp",
];

/// The last file that gives a sysctl another value than that.
fn of_sysctl(view: &View<'_>, path: &str, to: &str) -> Option<Evidence> {
    let all = sysctls(view).ok()?;
    let one = all.into_iter().rev().find(|one| covers(&one.name, path))?;
    let value = format!("{} = {}", super::configured::interchanged(&one.name), one.value);
    (!is_same(&one.value, to)).then_some(Evidence { value, read: one.file })
}

/// Paths and texts of the files.
fn files(view: &View<'_>) -> Vec<(String, String)> {
    let mut all = Vec::new();
    let mut take = |path: String| all.extend(view.file(&path).ok().map(|text| (path, text.replace("\\\n", " "))));
    for (folders, end) in PLACES {
        for folder in *folders {
            for name in view.names(folder) {
                let path = format!("{folder}/{name}");
                match name.strip_suffix(".d").filter(|above| !end.is_empty() && above.ends_with(end)) {
                    // What is in such a folder is added to the file of its name.
                    Some(_) => view.names(&path).into_iter().for_each(|part| take(format!("{path}/{part}"))),
                    None if name.ends_with(end) => take(path),
                    None => {}
                }
            }
        }
    }
    SCRIPTS.iter().for_each(|path| take((*path).to_owned()));
    all
}

/// The line of a text that gives a setting of an interface a value, and that value.
fn given<'t>(text: &'t str, path: &str, named: &Named, of: &Interface) -> Option<(&'t str, String)> {
    // All of a file is about the interfaces that it names, or a stanza is.
    let keyed = |line: &str| {
        let (key, value) = line.split_once(['=', ':'])?;
        Some((key.trim().to_ascii_lowercase(), value.trim().trim_matches(['"', '\'']).to_owned()))
    };
    let lists = |keys: &[&str]| -> Vec<String> {
        let of = |(key, value): (String, String)| (keys.contains(&key.as_str()) && !value.is_empty()).then_some(value);
        text.lines().filter_map(keyed).filter_map(of).collect()
    };
    let (names, macs) = (lists(&["originalname", "name", "interface-name"]), lists(&MACS));
    let is_named = names.iter().flat_map(|one| one.split_whitespace()).any(|glob| covers(glob, &of.name));
    let own = [&of.address, &of.permanent_address];
    let is_own =
        |mac: &String| own.iter().any(|own| own.as_ref().is_some_and(|own| mac.to_ascii_lowercase().contains(own)));
    let is_other = !names.is_empty() && !is_named || !macs.is_empty() && !macs.iter().any(is_own);
    let ends_with = |end: &str| path.ends_with(end) || path.contains(&format!("{end}.d/"));
    if [".link", ".network", ".nmconnection"].iter().any(|end| ends_with(end)) && is_other {
        return None;
    }
    // What belongs to another one is deeper in a file of YAML, and follows its name.
    if ends_with(".yaml")
        && !text.lines().any(|line| line.trim().trim_end_matches(':') == of.name || line.contains("match:"))
    {
        return None;
    }
    if path.rsplit_once("/ifcfg-").is_some_and(|(_, name)| name != of.name) {
        return None;
    }
    let mut own = true;
    for line in text.lines().filter(|line| !line.trim_start().starts_with(['#', ';'])) {
        let mut words = line.split_whitespace();
        if words.next() == Some("iface") {
            own = words.next().is_some_and(|glob| covers(glob.trim_start_matches('/'), &of.name));
        }
        let by_key = own.then(|| keyed(line).or_else(|| by_space(line))).flatten();
        let by_key = by_key.filter(|(key, _)| named.has(key)).map(|(_, value)| value);
        if let Some(value) = by_key.or_else(|| named.command(line, &of.name, own)) {
            return Some((line, value));
        }
    }
    None
}

/// Key and value of interfaces(5).
fn by_space(line: &str) -> Option<(String, String)> {
    let (key, value) = line.trim().split_once(char::is_whitespace)?;
    Some((key.to_owned(), value.trim().to_owned()))
}

impl Named {
    /// True for a key of it.
    fn has(&self, key: &str) -> bool {
        let Self(_, option, words, keys) = self;
        let word = key.strip_prefix("feature-").or_else(|| key.strip_prefix("offload-"));
        keys.contains(&key) || *option == FEATURES && word.is_some_and(|word| words.contains(&word))
    }

    /// Value that a command in a line gives it: of `ethtool`, `ip link` or `linerate nic set`.
    fn command(&self, line: &str, interface: &str, own: bool) -> Option<String> {
        let Self(name, options, words, _) = self;
        let plain = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ';' | '&' | '|' | ',');
        let all: Vec<&str> = line.split(plain).filter(|word| !word.is_empty()).collect();
        // A variable of a rule, a unit or a script may stand for it.
        let is_it = |word: &&&str| **word == interface || own && word.contains(['$', '%', '*']);
        all.iter().find(is_it)?;
        let behind = |word: &str| all.iter().position(|one| *one == word).map(|at| &all[at + 1..]);
        if let Some(rest) = all.iter().position(|one| one.ends_with("linerate")).map(|at| &all[at + 1..]) {
            let of = |one: &&str| one.strip_prefix(name)?.strip_prefix('=').map(str::to_owned);
            let off =
                |one: &&str| words.iter().any(|word| one.strip_prefix('-') == Some(word)).then(|| "off".to_owned());
            return rest.iter().find_map(|one| of(one).or_else(|| off(one)));
        }
        let program = if *options == OF_IP { "ip" } else { "ethtool" };
        let calls = |word: &&&str| **word == program || word.ends_with(&format!("/{program}"));
        all.iter().find(|word| calls(word) || word.starts_with("ETHTOOL_OPTS="))?;
        let rest = options.iter().find_map(|option| behind(option))?;
        let at = rest.iter().position(|one| words.contains(one))?;
        rest.get(at + 1).map(|value| (*value).to_owned())
    }
}

/// True if a file's text for a value is that value.
fn is_one(text: &str, value: &Value) -> bool {
    match value {
        Value::On(on) => ["on", "yes", "true", "1"].contains(&text.to_ascii_lowercase().as_str()) == *on,
        Value::Number(number) => text == number.to_string(),
        Value::Text(other) => is_same(text, other),
    }
}
