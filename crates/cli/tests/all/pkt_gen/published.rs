//! Test of the command that is published for pkt-gen, as it is typed, on two interfaces at once.

use super::BINARY;
use super::kernel::{namespace, opens, start_in, veth};
use std::process::{Command, Stdio};

#[test]
fn two_published_commands_run_at_once_and_end_by_ctrl_c() {
    let Some(ns) = namespace() else { return };
    let pairs = [["a0", "a1"], ["b0", "b1"]].map(|names| veth(&ns, names));
    if !opens(&ns, "xdp:a0") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let pkt_gen = dir.path().join("pkt-gen");
    std::os::unix::fs::symlink(BINARY, &pkt_gen).unwrap();
    let start = start_in(&ns);
    let mut both = ["a0", "b0"].map(|name| {
        let mut command = Command::new(&pkt_gen);
        command.args(["-i", name, "-f", "tx", "-D", "00:07:43:ab:cd:ef"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        start(command, "Ready...")
    });
    // The first periodic line shows that it sends.
    both.iter_mut().for_each(|running| drop(running.until("main_thread")));
    both.iter().for_each(|running| running.signal("INT"));
    for (running, pair) in both.into_iter().zip(&pairs) {
        let ended = running.end();
        assert_eq!(ended.code, Some(130), "{ended:?}");
        let [near, far] = pair.names();
        let mac = pair.link(near).unwrap().mac.unwrap().map(|byte| format!("{byte:02x}")).join(":");
        let lines: Vec<&str> = ended.out.lines().collect();
        assert_eq!(lines[0], format!("Sending on xdp:{near}: 1 queues, 1 threads and 1 cpus."));
        assert_eq!(lines[1], format!("10.0.0.1 -> 10.1.0.1 ({mac} -> 00:07:43:ab:cd:ef)"));
        let sent: u64 = lines[2].split(' ').nth(1).unwrap().parse().unwrap();
        assert!(sent > 0 && lines[2].starts_with(&format!("Sent {sent} packets {} bytes ", 60 * sent)), "{}", lines[2]);
        assert!(lines[2].contains(" events 60 bytes each in "), "{}", lines[2]);
        assert!(lines[3].starts_with("Speed: ") && lines[3].ends_with(" pkts"), "{}", lines[3]);
        assert_eq!(
            lines[4..],
            [format!(
                "Ledger: offered {sent} = sent {sent} + refused 0; received ?, dropped 0, in flight 0, unexplained 0."
            )]
        );
        // Frames dropped for lack of room at the far interface are counted by the kernel at the near one.
        let [near, far] = [near, far].map(|name| pair.link(name).unwrap().stats);
        assert_eq!(far.rx_packets + near.tx_dropped, sent, "{near:?} {far:?}");
        assert_eq!(far.rx_bytes, 60 * far.rx_packets);
    }
}
