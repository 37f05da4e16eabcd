//! Tests of tshark's captures of veth traffic: every frame is whole, every checksum right.

use super::kernel::{namespace, opens, start_in, veth};
use super::linerate;
use crate::process::{Ended, LIMIT, Process};
use linerate_host::Namespace;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Frames of each kind; at a rate low enough for tshark's capture to lose none.
const EACH: usize = 500;
const RATE: u32 = 10_000;

/// Starts a capture by tshark of `frames` frames that arrive at an interface. The capture has begun when this returns.
fn capture(ns: &Namespace, interface: &str, frames: usize, file: &Path) -> Option<Process> {
    let mut command = Command::new("tshark");
    // A large buffer: the capture must not lose frames.
    command.args(["-i", interface, "-Q", "-B", "64", "-c", &frames.to_string(), "-w"]).arg(file);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if Command::new("tshark").arg("-v").output().is_err() {
        linerate_skip::skip!("tshark is not installed");
        return None;
    }
    let mut running = ns.run_in(|| Process::start(command)).unwrap();
    // dumpcap opens the interface, then the file, which begins with a header.
    let deadline = Instant::now() + LIMIT;
    while std::fs::metadata(file).map_or(0, |file| file.len()) == 0 {
        assert!(Instant::now() < deadline && !running.ends_within(Duration::from_millis(5)), "{:?}", running.end());
    }
    Some(running)
}

/// Number of frames by IP version and length, as tshark dissects them. The error is the first frame with a fault.
fn dissected(file: &Path) -> Result<BTreeMap<(u8, usize), usize>, String> {
    let fields = ["frame.len", "ip.version", "ip.checksum.status", "udp.checksum.status", "udp.length", "udp.dstport"];
    let complaints = ["_ws.malformed", "_ws.expert.message"];
    let mut command = Command::new("tshark");
    command.arg("-n").arg("-r").arg(file).args(["-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]);
    command.args(["-T", "fields"]).args(fields.iter().chain(&complaints).flat_map(|field| ["-e", field]));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut seen = BTreeMap::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        const GOOD: &str = "1";
        let (len, rest) = line.split_once('\t').unwrap();
        let len: usize = len.parse().unwrap();
        let right = |version, ip_sum, header: usize| {
            let udp_length = len.saturating_sub(header).to_string();
            rest.split('\t').eq([version, ip_sum, GOOD, &udp_length, "1234", "", ""])
        };
        let version = match () {
            () if right("4", GOOD, 34) => 4,
            () if right("6", "", 54) => 6,
            () => return Err(line.to_owned()),
        };
        *seen.entry((version, len)).or_insert(0) += 1;
    }
    Ok(seen)
}

fn sees(kind: &str) {
    let Some(ns) = namespace() else { return };
    let _pair = veth(&ns, ["va", "vb"]);
    if !opens(&ns, &format!("{kind}:va")) {
        return;
    }
    let wanted = [(4, 60), (4, 61), (4, 594), (4, 1514), (6, 80), (6, 333), (6, 1514)];
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("seen.pcapng");
    let Some(tshark) = capture(&ns, "vb", EACH * wanted.len(), &file) else { return };
    for (version, size) in wanted {
        let sender = linerate(&format!("pkt-gen -i {kind}:va -f tx -n {EACH} -l {size} -{version} -R {RATE} -w 0"));
        let Ended { code, log, .. } = start_in(&ns)(sender, "Ready...").end();
        assert_eq!(code, Some(0), "{log}");
    }
    let ended = tshark.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(dissected(&file), Ok(BTreeMap::from(wanted.map(|kind| (kind, EACH)))));
}

#[test]
fn tshark_finds_nothing_wrong_with_what_packet_sent() {
    sees("packet");
}

#[test]
fn tshark_finds_nothing_wrong_with_what_xdp_sent() {
    sees("xdp");
}

/// A check that cannot fail proves nothing: one wrong byte is found.
#[test]
fn tshark_finds_a_wrong_byte() {
    let Some(ns) = namespace() else { return };
    let _pair = veth(&ns, ["va", "vb"]);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("seen.pcapng");
    let Some(tshark) = capture(&ns, "vb", 1, &file) else { return };
    let sender = linerate("pkt-gen -i packet:va,faults=corrupt:1/seed:1 -f tx -n 1 -w 0");
    start_in(&ns)(sender, "Ready...").end();
    assert_eq!(tshark.end().code, Some(0));
    let found = dissected(&file);
    assert!(found.is_err(), "{found:?}");
}
