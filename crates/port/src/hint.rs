//! Suggestions for an unknown port: names in the notation of other programs.

use linerate_text::{nearest, short};
use std::path::Path;

/// Prefixes in other programs' notation, and the equivalent kind.
const KINDS: &[(&str, &str)] = &[
    ("netmap:", "xdp:"),
    ("dpdk:", "xdp:"),
    ("af_xdp:", "xdp:"),
    ("afxdp:", "xdp:"),
    ("net_af_xdp:", "xdp:"),
    ("xsk:", "xdp:"),
    ("eth:", "xdp:"),
    ("if:", "xdp:"),
    ("dev:", "xdp:"),
    ("nic:", "xdp:"),
    ("af_packet:", "packet:"),
    ("afpacket:", "packet:"),
    ("net_af_packet:", "packet:"),
    ("raw:", "packet:"),
    ("socket:", "packet:"),
    ("tun:", "tap:"),
    ("file:", "pcap:"),
    ("pcapng:", "pcap:"),
    ("erf:", "pcap:"),
    ("pipe:", "cable:"),
    ("switch:", "vale:"),
];

/// Suggested name for one whose kind is unknown; None if there is no clue.
pub(crate) fn of(text: &str, kinds: impl IntoIterator<Item = &'static str>) -> Option<String> {
    let write = |name: String| Some(format!("write {}", short(&name, 80)));
    if let Some((kind, rest)) = text.split_once(':') {
        // netmap's switch names begin with "vale".
        if let Some(switch) = kind.strip_prefix("vale").filter(|switch| !switch.is_empty()) {
            return write(format!("vale:{switch}:{rest}"));
        }
        let Some((_, ours)) = KINDS.iter().find(|(theirs, _)| text.to_ascii_lowercase().starts_with(theirs)) else {
            return write(format!("{}:{rest}", nearest(kind, kinds)?));
        };
        return match *ours {
            "xdp:" => interface(rest),
            "tap:" | "packet:" => write(format!("{ours}{}", queue(rest))),
            other => write(format!("{other}{rest}")),
        };
    }
    let is_file = Path::new(text).extension().is_some_and(|end| end == "pcap" || end == "pcapng" || end == "cap");
    match text {
        "" => None,
        "null" => write("null:".into()),
        _ if text.contains(['{', '}']) => write(format!("cable:{text}")),
        _ if is_file => write(format!("pcap:{text}")),
        _ if text.contains('/') => None,
        _ if text.starts_with("tap") => write(format!("tap:{text}")),
        _ => interface(text),
    }
}

/// An interface as netmap names it: a pipe by `{1` or `}1`, the host's rings by `^`, a queue by `-1`, flags behind `/`.
fn interface(name: &str) -> Option<String> {
    let name = name.split('/').next().unwrap_or(name);
    if name.contains(['{', '}']) {
        return Some(format!("write cable:{name}"));
    }
    if let Some(name) = name.strip_suffix(['^', '*']) {
        return Some(format!("the kernel's side is a TAP here: write tap:NAME, and packet:{name} for the interface"));
    }
    let name = queue(name);
    Some(format!("write xdp:{name} (AF_XDP), or packet:{name} where that cannot be had"))
}

/// netmap's `-1` is the queue `@1`.
fn queue(name: &str) -> String {
    match name.rsplit_once('-') {
        Some((interface, digits)) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
            format!("{interface}@{digits}")
        }
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use crate::Spec;

    #[test]
    fn names_of_other_programs_are_told_what_they_are_called_here() {
        for (typed, meant) in [
            ("netmap:eth0", "xdp:eth0"),
            ("netmap:eth0-2/R", "xdp:eth0@2"),
            ("netmap:lab{1", "cable:lab{1"),
            ("netmap:eth0^", "tap:NAME"),
            ("dpdk:0000:00:1f.6", "xdp:"),
            ("net_af_xdp:eth0", "xdp:eth0"),
            ("eth0", "xdp:eth0"),
            ("enp3s0-1", "xdp:enp3s0@1"),
            ("tap0", "tap:tap0"),
            ("lab}1", "cable:lab}1"),
            ("capture.pcapng", "pcap:capture.pcapng"),
            ("file:/tmp/a.pcap", "pcap:/tmp/a.pcap"),
            ("af_packet:eth0", "packet:eth0"),
            ("vale0:1", "vale:0:1"),
            ("valeXY:p", "vale:XY:p"),
            ("tun:tap3", "tap:tap3"),
            ("null", "null:"),
            ("cabel:lab{1,rate=1G", "cable:lab{1,rate=1G"),
            ("xpd:eth0", "xdp:eth0"),
            ("Packet:eth0", "packet:eth0"),
        ] {
            let line = Spec::parse(typed).unwrap_err().to_string();
            let (_, mend) = line.rsplit_once("; ").unwrap();
            assert!(mend.starts_with("write ") || mend.starts_with("the kernel's"), "{typed}: {line}");
            assert!(mend.contains(meant) && !line.contains('\n'), "{typed}: {line}");
        }
        for nothing in ["", "wire:x", "/dev/net"] {
            assert!(Spec::parse(nothing).unwrap_err().to_string().contains("cable, vale, "), "{nothing}");
        }
    }
}
