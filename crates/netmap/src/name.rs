//! Names: netmap's own, as a request carries them, to linerate's.
//!
//! | netmap | linerate |
//! |---|---|
//! | a name in the user's table | the port beside it |
//! | `cable:x{1`, `packet:eth0`, any name of linerate's | itself |
//! | `x{1`, `x}1`, `vale0:a{1` (a pipe) | `cable:x{1`, `cable:x}1`, `cable:vale0.a{1` |
//! | `vale0:a`, `vale:a` | `vale:0:a` |
//! | `eth0` | `xdp:eth0`, else `packet:eth0` |

use linerate_port::KINDS;

/// Environment variable of the user's table: `NAME=PORT`, one a line.
const TABLE: &str = "LINERATE_NETMAP_PORTS";

/// The user's table.
pub(crate) fn table() -> String {
    std::env::var(TABLE).unwrap_or_default()
}

/// Switch and port of netmap's name for a port of a switch: `vale:a` is netmap's, `vale:0:a` linerate's.
pub(crate) fn of_switch(name: &str) -> Option<(&str, &str)> {
    let (switch, port) = name.strip_prefix("vale")?.split_once(':')?;
    let named = !(port.is_empty() || switch.is_empty() && port.contains(':'));
    named.then_some((if switch.is_empty() { "0" } else { switch }, port))
}

/// The port that the user gave a name.
fn of_user(name: &str, table: &str) -> Option<String> {
    let mut rows = table.lines().filter_map(|line| line.split_once('='));
    rows.find(|(from, _)| *from == name).map(|(_, port)| port.into())
}

/// The port that stands for the host's side of a name, `eth0^` as programs write it: the user gives it, or there is none.
pub(crate) fn host(name: &str, table: &str) -> Option<String> {
    of_user(&format!("{}^", name.strip_prefix("netmap:").unwrap_or(name)), table)
}

/// Ports that a name may mean, the best first.
pub(crate) fn ports(name: &str, table: &str) -> Vec<String> {
    let name = name.strip_prefix("netmap:").unwrap_or(name);
    if let Some(port) = of_user(name, table) {
        return vec![port];
    }
    // A pipe is named after a port, and is a port of its own. No port of a switch has such a name.
    let own = name.split_once(':').map_or("", |(kind, _)| kind);
    let is_own = KINDS.iter().any(|known| known.name == own);
    if name.contains(['{', '}']) && (!is_own || own == "vale") {
        return vec![format!("cable:{}", name.replace(':', "."))];
    }
    if let Some((switch, port)) = of_switch(name) {
        return vec![format!("vale:{switch}:{port}")];
    }
    if is_own {
        return vec![name.into()];
    }
    vec![format!("xdp:{name}"), format!("packet:{name}")]
}

#[cfg(test)]
mod tests {
    use super::ports;

    #[test]
    fn names_of_netmap_and_linerate_and_the_users_table_lead_to_ports() {
        let table = "eth1=packet:eth1,rx=ring\nx{1=cable:y}2";
        for (name, wanted) in [
            ("eth0", &["xdp:eth0", "packet:eth0"][..]),
            ("netmap:eth0", &["xdp:eth0", "packet:eth0"]),
            ("eth1", &["packet:eth1,rx=ring"]),
            ("x{1", &["cable:y}2"]),
            ("p}1", &["cable:p}1"]),
            ("vale0:a{1", &["cable:vale0.a{1"]),
            ("vale0:a", &["vale:0:a"]),
            ("valelab:b", &["vale:lab:b"]),
            ("vale:b", &["vale:0:b"]),
            ("vale:lab:b", &["vale:lab:b"]),
            ("cable:x{1,slots=2K", &["cable:x{1,slots=2K"]),
            ("null:", &["null:"]),
        ] {
            assert_eq!(ports(name, table), wanted, "{name}");
        }
    }
}
