//! Ports of a test, by their names: their links, and rings that flags ask for.

use super::config::Config;
use super::run::Refusal;
use linerate_port::{Link, Port, Spec};

/// True if a port has a link that needs time to come up.
pub(super) fn is_physical(port: &str) -> bool {
    Spec::parse(port).is_ok_and(|spec| matches!(spec.kind.name, "xdp" | "packet" | "tap"))
}

/// A line about a port whose link is down: the cable has no peer, or the interface no carrier.
pub(super) fn alone(port: &Port) -> Option<String> {
    let name = &port.info().name;
    if port.link() == Link::Up || name.starts_with("pcap:") {
        return None;
    }
    let end = name.split([',', '@']).next().unwrap_or(name);
    let other = |c| {
        if c == '{' {
            '}'
        } else if c == '}' {
            '{'
        } else {
            c
        }
    };
    let why = match end.strip_prefix("cable:") {
        _ if port.link() == Link::Gone => return gone(port),
        Some(_) => format!("nobody is at the far end; open {} there", end.chars().map(other).collect::<String>()),
        None => "its link is down; bring it and its peer up".to_owned(),
    };
    Some(format!("{name}: {why}"))
}

/// A line about a port whose interface was deleted.
pub(super) fn gone(port: &Port) -> Option<String> {
    let name = &port.info().name;
    (port.link() == Link::Gone)
        .then(|| format!("{name}: the interface is gone: it was deleted or moved while it was in use"))
}

/// Port name with the rings of `-C` as options.
pub(super) fn with_rings(config: &Config, port: &str) -> Result<String, Refusal> {
    // A receiver reads a capture file instead of making one.
    let reads = config.mode.receives()
        && port.starts_with("pcap:")
        && ![",mode=", ",out="].iter().any(|key| port.contains(key));
    let standard = port.strip_prefix("pcap:").and_then(|rest| rest.split(',').next()) == Some("-");
    let writes = standard && !reads && ![",mode=", ",out="].iter().any(|key| port.contains(key));
    // A receiver of streams has time: frames that come by the millisecond cost it less.
    let is_packet = || Spec::parse(port).is_ok_and(|spec| spec.kind.name == "packet");
    let patient = config.mode.receives() && is_packet() && !port.contains(",rx=");
    let port = &match (reads, patient) {
        (true, _) => format!("{port},mode=r"),
        _ if writes => format!("{port},mode=w"),
        (_, true) => format!("{port},rx=ring"),
        _ => port.to_owned(),
    };
    let Some([tx_slots, rx_slots, tx_rings, rx_rings]) = config.rings else { return Ok(port.clone()) };
    let usage = |text: String| Err(Refusal::Usage(text));
    if tx_slots != rx_slots || tx_rings != rx_rings {
        return usage(format!(
            "-C {tx_slots},{rx_slots},{tx_rings},{rx_rings}: linerate's rings are the same both ways; give one number of \
             slots, and one of rings after two commas, as -C 1024,1024,2"
        ));
    }
    let spec = Spec::parse(port)?;
    let takes = |key: &str| spec.kind.options.iter().any(|row| row.key == key);
    let mut name = port.clone();
    if tx_slots > 0 {
        name += &format!(",slots={tx_slots}");
    }
    if tx_rings > 0 {
        if !takes("queues") {
            return usage(format!(
                "-C with {tx_rings} rings: {port} has as many as it has; leave the third number out"
            ));
        }
        name += &format!(",queues={tx_rings}");
    }
    Ok(name)
}
