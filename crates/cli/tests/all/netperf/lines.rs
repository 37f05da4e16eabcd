//! Lines as they are written in scripts, in a network of their own: at netperf's port, over packets of any size.

use super::has_netperf;
use crate::process::{BINARY, Ended, Process};
use linerate_skip::skip;
use std::process::Command;

/// Runs a shell script in a network and a set of processes of its own, with our programs first or last among those of the same
/// name; `None`, with a skip reported, where that is not possible.
fn alone(mtu: u32, script: &str, ours: &[&str]) -> Option<Ended> {
    let unshared = ["--user", "--map-root-user", "--net", "--pid", "--fork", "--kill-child"];
    let probe = Command::new("unshare").args(unshared).args(["ip", "link", "set", "lo", "up"]).output();
    if !probe.as_ref().is_ok_and(|out| out.status.success()) {
        skip!("no network of one's own can be made: {probe:?}");
        return None;
    }
    let dir = tempfile::tempdir().unwrap();
    for name in ours {
        std::os::unix::fs::symlink(BINARY, dir.path().join(name)).unwrap();
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("unshare");
    command.args(unshared).args(["sh", "-ec"]).env("PATH", format!("{}:{path}", dir.path().display()));
    // netperf resolves no address in a network without an interface.
    let links = format!(
        "ip link set lo mtu {mtu} up; ip link add name near0 type veth peer name far0; ip link set dev near0 up"
    );
    let addresses = "ip addr add 192.0.2.1/24 dev near0; ip addr add 2001:db8::1/64 dev near0 nodad";
    command.env("DIR", dir.path()).arg(format!("{links}; {addresses}; {script}"));
    Some(Process::start(command).end())
}

/// Waits for a server at netperf's port: 12865 is 3241 in hexadecimal digits.
const READY: &str = "until grep -q ':3241 .* 0A ' /proc/self/net/tcp /proc/self/net/tcp6; do sleep 0.02; done";

/// Programs that are ours, of a client and a server.
const OURS: [&[&str]; 3] = [&["netperf"], &["netserver"], &["netperf", "netserver"]];

#[test]
fn lines_of_scripts_run_as_they_are_written() {
    if !has_netperf() {
        return;
    }
    for ours in OURS {
        for (mtu, sizes) in [(65_536, "64 1K 8K 256K"), (576, "64 256K")] {
            let script = format!(
                "head -c 4000000 /dev/zero >\"$DIR/file\"; netserver; {READY}
                HOSTIP=127.0.0.1 SENDFILE=$DIR/file
                for BSIZE in {sizes}; do
                    netperf -H $HOSTIP -t TCP_STREAM -C -c -l 1 -- -m $BSIZE
                    netperf -H $HOSTIP -t TCP_SENDFILE -C -c -l 1 -F $SENDFILE -- -m $BSIZE
                done
                for BSIZE in 64 1472 65500; do
                    netperf -H $HOSTIP -t UDP_STREAM -C -c -l 1 -- -m $BSIZE -s 128K -S 128K
                done"
            );
            let Some(ended) = alone(mtu, &script, ours) else { return };
            assert_eq!((ended.code, &*ended.log), (Some(0), ""), "{ours:?} {mtu}: {}", ended.said());
            let lines = |first: &str| ended.out.lines().filter(|line| line.contains(first)).count();
            let count = sizes.split(' ').count();
            assert_eq!((lines("TCP STREAM TEST"), lines("SENDFILE TEST"), lines("UDP STREAM")), (count, count, 3));
            let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            // What the server has received stands in a shorter line below.
            let sent: Vec<_> = ended.out.lines().map(words).filter(|w| w.len() == 8 && w[0] == "262144").collect();
            let sizes: Vec<_> = sent.iter().map(|w| (&*w[1], &*w[4])).collect();
            assert_eq!(sizes, [("64", "0"), ("1472", "0"), ("65500", "0")], "{ours:?} {mtu}: {}", ended.out);
        }
    }
}

#[test]
fn a_server_leaves_the_terminal_and_serves() {
    let script =
        format!("netserver; {READY}; netperf -t TCP_RR -P 0 -l -100; netperf -6 -H ::1 -P 0 -l -100; echo done");
    let Some(ended) = alone(65_536, &script, &["netperf", "netserver"]) else { return };
    assert_eq!((ended.code, &*ended.log), (Some(0), ""), "{}", ended.said());
    assert!(ended.out.starts_with("Starting netserver with host 'IN(6)ADDR_ANY' port '12865' and family AF_UNSPEC\n"));
    assert_eq!(ended.out.lines().count(), 5, "{}", ended.out);
}
