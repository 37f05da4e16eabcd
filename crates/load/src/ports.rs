//! What users are told of ports: the path that each got, notes about it, and when its link comes and goes.

use linerate_host::Rtnetlink;
use linerate_port::{Link, OpenError, Port, Spec};

/// Slots of a ring in which a TCP window has room: the largest of Linux by default (6 MiB, `net.ipv4.tcp_rmem`), in full
/// frames. A sender that is a kernel waits for nothing else, and AF_XDP drops what finds no room.
const WINDOW: &str = "4096";

/// Rings for frames of up to 64 KiB: what waits for a turn waits in the kernel, so the rings are as small as a core's
/// cache, and a frame has few parts, each of which costs the kernel a check.
const SUPER: [(&str, &str); 2] = [("slots", "128"), ("buf", "16384")];

/// Ports to forward between, from their names: with rings that suit this where the name says nothing of them.
pub fn forwarded<S: AsRef<str>>(names: &[S]) -> Result<Vec<Spec>, OpenError> {
    let mut specs = names.iter().map(|name| Spec::parse(name.as_ref())).collect::<Result<Vec<_>, _>>()?;
    // Ports that share a region have buffers of one length, and AF_XDP has none so long.
    let all = specs.iter().all(|spec| matches!(spec.kind.name, "packet" | "tap"));
    for spec in &mut specs {
        let given = SUPER.iter().any(|(key, _)| spec.option(key).is_some());
        *spec = match spec.kind.name {
            "xdp" => spec.clone().preferring("slots", WINDOW),
            _ if all && !given => SUPER.iter().fold(spec.clone(), |spec, (key, value)| spec.preferring(key, value)),
            _ => continue,
        };
    }
    Ok(specs)
}

/// A port's path, and the notes about it, a line each.
#[must_use]
pub fn lines(port: &Port) -> Vec<String> {
    let info = port.info();
    let mut lines = vec![format!("{}: {}, frames up to {} bytes", info.name, info.path, info.largest)];
    lines.extend(port.notes().iter().map(|note| format!("{}: {note}", info.name)));
    lines
}

/// True if two ports are the two ends of one veth pair in this namespace: what goes from one to the other comes back.
#[must_use]
pub fn are_one_link(ports: [&str; 2]) -> bool {
    let interface = |port: &str| {
        let spec = Spec::parse(port).ok().filter(|spec| matches!(spec.kind.name, "xdp" | "packet"))?;
        Rtnetlink::open().and_then(|mut net| net.link(&spec.name)).ok()
    };
    let [Some(a), Some(b)] = ports.map(interface) else { return false };
    a.kind == "veth" && a.peer == Some(b.index)
}

/// States of links as they were last told.
#[derive(Debug, Default)]
pub struct Links(Vec<(String, Link)>);

impl Links {
    /// Takes note of a port's state; a line for the user if it has changed.
    pub fn change(&mut self, name: &str, link: Link) -> Option<String> {
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, last)) if *last == link => return None,
            Some((_, last)) => *last = link,
            None => {
                self.0.push((name.to_owned(), link));
                // Up is what is expected.
                if link == Link::Up {
                    return None;
                }
            }
        }
        let now = match link {
            Link::Up => "link up",
            Link::Down => "link down",
            Link::Gone => "the interface is gone; start again once there is a new one",
        };
        Some(format!("{name}: {now}"))
    }
}

/// Ports of a switch that were last told to be blocked, each with the port that it is joined to.
#[derive(Debug, Default)]
pub struct Loops(Vec<(String, String)>);

impl Loops {
    /// Takes note of the ports that are blocked now; lines for the user about what has changed.
    pub fn change<'a>(&mut self, blocked: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<String> {
        let now: Vec<(String, String)> = blocked.map(|(port, other)| (port.to_owned(), other.to_owned())).collect();
        let begun = now.iter().filter(|row| !self.0.contains(row));
        let mut lines: Vec<String> = begun
            .map(|(port, other)| {
                format!("{port}: blocked: it is joined to {other} outside this switch (a loop); remove one link")
            })
            .collect();
        let over = self.0.iter().filter(|(port, _)| !now.iter().any(|(still, _)| still == port));
        lines.extend(over.map(|(port, other)| format!("{port}: open again: it is no longer joined to {other}")));
        self.0 = now;
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_suit_forwarding_where_the_name_says_nothing_of_them() {
        let rings = |names: &[&str]| -> Vec<_> {
            let specs = forwarded(names).unwrap();
            specs.iter().map(|spec| ["slots", "buf"].map(|key| spec.option(key).map(str::to_owned))).collect()
        };
        let set = |slots: &str, buf: &str| [slots, buf].map(|n| (!n.is_empty()).then(|| n.to_owned()));
        assert_eq!(rings(&["packet:a", "tap:b,gso=on"]), [set("128", "16384"), set("128", "16384")]);
        assert_eq!(rings(&["packet:a,slots=512", "tap:b,buf=4096"]), [set("512", ""), set("", "4096")]);
        // Its buffers are a page at most, and all of a region are alike.
        assert_eq!(rings(&["packet:a", "xdp:b"]), [set("", ""), set("4096", "")]);
        assert_eq!(rings(&["xdp:a,slots=64"]), [set("64", "")]);
        assert!(forwarded(&["packet:a", "paket:b"]).is_err());
    }

    #[test]
    fn a_block_is_told_once_and_its_end() {
        let mut loops = Loops::default();
        let told = "b: blocked: it is joined to a outside this switch (a loop); remove one link";
        assert_eq!(loops.change([("b", "a")].into_iter()), [told]);
        assert_eq!(loops.change([("b", "a")].into_iter()), [] as [&str; 0]);
        let lines = loops.change([("c", "a"), ("b", "c")].into_iter());
        assert!(lines.len() == 2 && lines[1].starts_with("b: blocked: it is joined to c"), "{lines:?}");
        assert_eq!(loops.change([("c", "a")].into_iter()), ["b: open again: it is no longer joined to c"]);
    }

    #[test]
    fn changes_alone_are_told() {
        let mut links = Links::default();
        assert_eq!(links.change("a", Link::Up), None);
        assert_eq!(links.change("b", Link::Down).as_deref(), Some("b: link down"));
        assert_eq!((links.change("a", Link::Up), links.change("b", Link::Down)), (None, None));
        assert_eq!(links.change("a", Link::Down).as_deref(), Some("a: link down"));
        assert_eq!(links.change("b", Link::Up).as_deref(), Some("b: link up"));
        assert_eq!((links.change("a", Link::Down), links.change("b", Link::Up)), (None, None));
        let gone = links.change("a", Link::Gone).unwrap();
        assert!(gone.starts_with("a: the interface is gone"), "{gone}");
    }
}
