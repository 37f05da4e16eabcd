//! Conversion of the port names that users of netmap and of other programs type to linerate's.

/// Port that a name after `-i` means, and a line about it if it differs from the name typed: netmap's `null` and
/// `valeS:P`, and bare names of interfaces, which linerate opens by AF_XDP (TAP interfaces as such).
#[must_use]
pub fn resolve(typed: &str) -> (String, Option<String>) {
    let says = |port: String| {
        let line = format!("{typed} is opened as {port}");
        (port, Some(line))
    };
    match typed.split_once(':') {
        None if typed == "null" => says("null:".into()),
        None if typed.starts_with("tap") => says(format!("tap:{typed}")),
        None if typed.is_empty() => (typed.to_owned(), None),
        None => says(format!("xdp:{typed}")),
        Some((switch, port)) if is_vale(switch) => says(format!("vale:{}:{port}", &switch["vale".len()..])),
        Some(_) => (typed.to_owned(), None),
    }
}

/// True for the name of a netmap switch: `vale` with a suffix.
fn is_vale(switch: &str) -> bool {
    switch.len() > "vale".len() && switch.starts_with("vale")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn netmaps_names_become_linerates() {
        for (typed, port) in [
            ("null", "null:"),
            ("eth0", "xdp:eth0"),
            ("tap3", "tap:tap3"),
            ("vale0:a", "vale:0:a"),
            ("valeXY:1", "vale:XY:1"),
        ] {
            let (name, line) = resolve(typed);
            assert_eq!(name, port);
            assert_eq!(line.unwrap(), format!("{typed} is opened as {port}"));
        }
        for typed in ["cable:x{1", "netmap:eth0", "vale:sw:p", "pcap:f", "nonsense:x"] {
            assert_eq!(resolve(typed), (typed.to_owned(), None));
        }
    }
}
