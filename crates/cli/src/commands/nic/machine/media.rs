//! Link modes by FreeBSD's names, as `ifconfig -m` prints them.

/// A mode that both have under other names: the kernel's and FreeBSD's.
const NAMES: &[(&str, &str)] = &[
    ("10baseT", "10baseT/UTP"),
    ("100baseT", "100baseTX"),
    ("100baseFX", "100baseFX"),
    ("1000baseT", "1000baseT"),
    ("1000baseKX", "1000Base-KX"),
    ("2500baseT", "2500Base-T"),
    ("2500baseX", "2500Base-X"),
    ("5000baseT", "5000Base-T"),
    ("10000baseT", "10Gbase-T"),
    ("10000baseCR", "10Gbase-Twinax"),
    ("40000baseCR4", "40Gbase-CR4"),
    ("100000baseLR4_ER4", "100GBase-LR4"),
];

/// FreeBSD's name and duplex of a link mode; `None` for a port, pause or FEC, which stand among the modes.
pub(super) fn mode(name: &str) -> Option<(String, &'static str)> {
    let (mode, duplex) = match name.split_once('/') {
        Some((mode, "Full")) => (mode, "full-duplex"),
        Some((mode, "Half")) => (mode, "half-duplex"),
        _ => return None,
    };
    if let Some((_, known)) = NAMES.iter().find(|(one, _)| *one == mode) {
        return Some(((*known).to_owned(), duplex));
    }
    let (speed, suffix) = mode.split_once("base")?;
    let speed: u32 = speed.parse().ok()?;
    let base = if speed == 10_000 || speed == 40_000 { "base" } else { "Base" };
    Some((if speed >= 10_000 { format!("{}G{base}-{suffix}", speed / 1000) } else { mode.to_owned() }, duplex))
}

/// Mb/s of a link mode.
fn speed(name: &str) -> Option<u32> {
    name.split_once("base")?.0.parse().ok()
}

/// The mode in use, if speed, duplex and port leave one.
pub(super) fn current(modes: &[String], mbps: u32, duplex: &str, port: &str) -> Option<String> {
    let fits = |name: &&String| {
        let kind = name.split('/').next().unwrap_or_default();
        let of_port = match port {
            "Twisted Pair" => kind.ends_with('T'),
            "Direct Attach Copper" => kind.contains("baseCR"),
            "FIBRE" => !kind.ends_with('T') && !kind.contains("baseCR") && !kind.contains("baseK"),
            _ => true,
        };
        speed(name) == Some(mbps) && name.to_lowercase().ends_with(duplex) && of_port
    };
    let mut left = modes.iter().filter(fits);
    let one = left.next()?;
    if left.next().is_some() { None } else { mode(one).map(|(name, _)| name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_have_freebsds_names() {
        for (linux, freebsd) in [
            ("10000baseSR/Full", "10Gbase-SR"),
            ("10000baseCR/Full", "10Gbase-Twinax"),
            ("25000baseCR/Full", "25GBase-CR"),
            ("100000baseKR4/Full", "100GBase-KR4"),
            ("1000baseT/Full", "1000baseT"),
            ("1000baseX/Full", "1000baseX"),
        ] {
            assert_eq!(mode(linux), Some((freebsd.to_owned(), "full-duplex")), "{linux}");
        }
        for other in ["FIBRE", "Pause", "RS", "Autoneg", "", "base/Full"] {
            assert_eq!(mode(other), None, "{other}");
        }
        let modes = ["1000baseT/Full", "1000baseKX/Full", "10000baseSR/Full", "10000baseLR/Full"].map(str::to_owned);
        assert_eq!(current(&modes, 1000, "full", "Twisted Pair").as_deref(), Some("1000baseT"));
        assert_eq!(current(&modes, 10_000, "full", "FIBRE"), None, "two fit");
    }
}
