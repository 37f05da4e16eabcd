//! Tests of `doctor --from` with what `nic record` wrote of a host, and with what its programs print.

use super::shell;
use crate::process::BINARY;
use serde_json::Value;
use std::collections::BTreeSet;

/// Rules and what they found, or that they could not look.
fn said(document: &Value) -> BTreeSet<String> {
    let found = document["findings"].as_array().unwrap().iter().map(|one| format!("{} {}", one["rule"], one["what"]));
    let unable = document["unable"].as_array().unwrap().iter().map(|one| format!("{} could not", one[1]));
    found.chain(unable).collect()
}

/// A host on which much is set by hand, with secrets in the places where they are.
const HOST: &str = "ip addr add 10.0.0.9/32 dev left; sysctl -qw net.ipv4.tcp_sack=0 net.ipv6.conf.left.hop_limit=3; \
    ip route add 10.7.0.0/16 via 10.0.0.2 mtu lock 576; ip route add 10.8.0.0/16 nexthop via 10.0.0.7 nexthop via 10.0.0.8; \
    ip neigh add 10.0.0.7 lladdr 02:00:00:00:00:07 dev left; tc qdisc add dev left root tbf rate 1mbit burst 10k latency 50ms; \
    nft 'add table inet t; add chain inet t c { type filter hook input priority 0; policy drop; comment \"hidden-a\"; }; \
         add rule inet t c ether saddr 02:de:ad:be:ef:07 drop comment \"hidden-b\"; \
         add rule inet t c tcp flags syn tcp option maxseg size set 500; add rule inet t c limit rate 3/minute accept'; \
    ethtool -K left tso off; for at in /etc/sysctl.d /etc/modprobe.d /etc/NetworkManager /etc/netplan; do \
        [ -d $at ] || continue; mount -t tmpfs none $at; done; \
    [ ! -d /etc/sysctl.d ] || printf 'net.ipv4.tcp_fastopen_key = hidden-c\nnet.ipv4.tcp_sack = 1\n' >/etc/sysctl.d/50-a.conf; \
    [ ! -d /etc/NetworkManager ] || { mkdir /etc/NetworkManager/system-connections; \
        printf '[wifi-security]\npsk=hidden-d\n' >/etc/NetworkManager/system-connections/a.nmconnection; }";

/// Regression: a recorded tree had the adapter and nothing of the host, and half of the rules could not look.
#[test]
fn a_recorded_host_is_examined_as_the_host_is() {
    let dir = tempfile::tempdir().unwrap();
    let tree = dir.path().join("tree").to_str().unwrap().to_owned();
    let line = format!(
        "{{ {HOST}; }} >/dev/null; settled; export HIDDEN_ENVIRONMENT=hidden-e; {BINARY} nic record left {tree} >/dev/null; \
         {BINARY} doctor --json left || [ $? = 3 ]"
    );
    let Some(out) = shell(&line) else { return };
    assert!(out.status.success(), "{out:?}");
    let live: Value = serde_json::from_slice(&out.stdout).unwrap();
    // The one that was recorded needs not be named.
    let from = std::process::Command::new(BINARY).args(["doctor", "--json", "--from", &tree]).output().unwrap();
    assert_eq!(from.status.code(), Some(3), "{from:?}");
    let recorded: Value = serde_json::from_slice(&from.stdout).unwrap();
    assert_eq!(said(&recorded), said(&live), "{recorded:#}");
    assert_eq!(recorded["interfaces"], serde_json::json!(["left"]));
    for rule in ["tcp-options", "route-metrics", "neighbour-fixed", "shaped", "firewall", "tso", "ip-settings"] {
        assert!(said(&recorded).iter().any(|one| one.starts_with(&format!("\"{rule}\" "))), "{rule}: {recorded:#}");
    }
    // The other interfaces were not recorded, and what was of this one is not theirs.
    let other =
        std::process::Command::new(BINARY).args(["doctor", "--json", "right", "--from", &tree]).output().unwrap();
    let other: Value = serde_json::from_slice(&other.stdout).unwrap();
    assert!(!said(&other).iter().any(|one| one.starts_with("\"tso\" \"")), "{other:#}");
    let mut seen = 0;
    for path in files(dir.path()) {
        let bytes = std::fs::read(&path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        seen += 1;
        assert!(bytes.len() <= 1 << 20, "{path:?}");
        // As text, and in the notation of answers.
        for hidden in ["hidden-", "68696464656e2d", "02deadbeef07", "HIDDEN_ENVIRONMENT"] {
            assert!(!text.contains(hidden), "{hidden} in {path:?}: {text}");
        }
    }
    assert!(seen > 100, "{seen}");
}

/// A host as people post it: the outputs one behind the other.
const POSTED: &str = "for command in 'ip -d -s -s link' 'ip -d addr' 'ip -d route show table all' 'ip neigh' 'tc -s qdisc' 'sysctl -a' lscpu \
    'ethtool left' 'ethtool -k left' 'ethtool -i left' 'ethtool -g left' 'ethtool -l left' 'ethtool -c left' 'ethtool -a left' \
    'ethtool -S left'; do echo \"# $command\"; $command 2>/dev/null || true; done";

/// All rules that look at what those texts tell find the same in them as on the host.
#[test]
fn what_programs_print_of_a_host_is_examined_as_the_host_is() {
    let dir = tempfile::tempdir().unwrap();
    let text = dir.path().join("posted.txt").to_str().unwrap().to_owned();
    let line = format!(
        "{{ {HOST}; ip link add bridge type bridge ageing_time 0; ip link set bridge up; ip addr add 10.4.0.1/24 dev bridge; \
         ethtool -L left rx 1 tx 1; ip link add link left name upper type macvlan; ip link set upper mtu 1300 up; }} >/dev/null; \
         settled; {{ {POSTED}; }} >{text}; {BINARY} doctor --json left upper bridge || [ $? = 3 ]"
    );
    let Some(out) = shell(&line) else { return };
    assert!(out.status.success(), "{out:?}");
    let live: Value = serde_json::from_slice(&out.stdout).unwrap();
    let doctor =
        |words: &[&str]| std::process::Command::new(BINARY).args(["doctor", "--json"]).args(words).output().unwrap();
    let from = doctor(&["left", "upper", "bridge", "--from", &text]);
    assert_eq!(from.status.code(), Some(3), "{from:?}");
    let printed: Value = serde_json::from_slice(&from.stdout).unwrap();
    let of = |document: &Value| -> BTreeSet<String> {
        let all = document["findings"].as_array().unwrap().iter();
        all.map(|one| format!("{} {} {} {}", one["subject"], one["severity"], one["rule"], one["what"])).collect()
    };
    // Nothing that is not so.
    let wrong: Vec<_> = of(&printed).difference(&of(&live)).cloned().collect();
    assert!(wrong.is_empty(), "{wrong:#?} {printed:#}");
    for rule in
        ["tcp-options", "route-metrics", "neighbour-fixed", "shaped", "tso", "ip-settings", "one-queue", "mtu-small"]
    {
        assert!(of(&printed).iter().any(|one| one.contains(&format!("\"{rule}\""))), "{rule}: {printed:#}");
    }
    // What is missing was not looked at, and this is said.
    let unable: BTreeSet<&str> =
        printed["unable"].as_array().unwrap().iter().map(|one| one[1].as_str().unwrap()).collect();
    for missing in of(&live).difference(&of(&printed)) {
        assert!(unable.iter().any(|rule| missing.contains(&format!("\"{rule}\""))), "{missing}: {printed:#}");
    }
    // A folder with that file is the same; a file with nothing of it is one line.
    let folder = doctor(&["left", "upper", "bridge", "--from", dir.path().to_str().unwrap()]);
    assert_eq!(of(&serde_json::from_slice(&folder.stdout).unwrap()), of(&printed));
    let none = dir.path().join("none");
    std::fs::write(&none, "hello\n").unwrap();
    let said = doctor(&["--from", none.to_str().unwrap()]);
    let line = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(
        said.status.code() == Some(2) && line.lines().count() == 1 && line.contains("no interface is in it"),
        "{line}"
    );
}

fn files(at: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(at).unwrap().flatten().filter(|entry| !entry.path().is_symlink());
    let below = |path: std::path::PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    entries.flat_map(|entry| below(entry.path())).collect()
}
