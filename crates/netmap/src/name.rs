//! Names: netmap's own, as a request carries them, to linerate's.
//!
//! | netmap | linerate |
//! |---|---|
//! | a name in the user's table | the port beside it |
//! | `cable:x{1`, `packet:eth0`, any name of linerate's | itself |
//! | `vale0:a`, `vale:a` | `vale:0:a` |
//! | `x{1`, `x}1` (a pipe) | `cable:x{1`, `cable:x}1` |
//! | `eth0` | `xdp:eth0`, else `packet:eth0` |

use linerate_port::KINDS;

/// Environment variable of the user's table: `NAME=PORT`, one a line.
pub(crate) const TABLE: &str = "LINERATE_NETMAP_PORTS";

/// Ports that a name may mean, the best first.
pub(crate) fn ports(name: &str, table: &str) -> Vec<String> {
    let name = name.strip_prefix("netmap:").unwrap_or(name);
    let own = table.lines().filter_map(|line| line.split_once('=')).find(|(from, _)| *from == name);
    if let Some((_, port)) = own {
        return vec![port.into()];
    }
    // `vale:a` is netmap's, `vale:0:a` linerate's.
    let of_switch = name.strip_prefix("vale").and_then(|rest| rest.split_once(':'));
    if let Some((switch, port)) = of_switch
        && !(switch.is_empty() && port.contains(':'))
    {
        return vec![format!("vale:{}:{port}", if switch.is_empty() { "0" } else { switch })];
    }
    if name.split_once(':').is_some_and(|(kind, _)| KINDS.iter().any(|known| known.name == kind)) {
        return vec![name.into()];
    }
    if name.contains(['{', '}']) {
        return vec![format!("cable:{name}")];
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
