//! Tests of `doctor --fix`, `--undo` and `--prove`: what is changed is mended, and as it was before when it is taken back.

use super::shell;
use crate::process::BINARY;

/// Commands at the beginning: a data directory of the test's own, and the settings as they are.
fn kept(setup: &str) -> String {
    format!(
        "D=$(mktemp -d); export XDG_DATA_HOME=$D; trap 'rm -rf $D; kill $P $S $N 2>/dev/null || true' EXIT; {{ {setup}; }} >/dev/null 2>&1; \
         now() {{ sysctl net.ipv4 net.core 2>/dev/null | grep -v -e _cookie -e _key -e mem_pressure -e neigh -e '[.]right[.]'; }}; \
         {BINARY} nic save left $D/left >/dev/null; {BINARY} nic save right $D/right >/dev/null; now >$D/now; \
         same() {{ {BINARY} nic diff left $D/left && {BINARY} nic diff right $D/right && now | diff $D/now -; }}; \
         file() {{ ls $D/linerate/undo/*.json; }}"
    )
}

/// Runs it; None without the programs or the privilege for it.
fn done(setup: &str, commands: &str) -> Option<String> {
    let line = format!("{}; {commands}", kept(setup));
    let out = shell(&line)?;
    assert!(out.status.success(), "{setup}: {commands}: {out:?}");
    Some(String::from_utf8(out.stdout).unwrap())
}

/// Faults, and the rules whose changes mend them.
const MENDED: &[(&str, &str)] = &[
    ("tso", "ethtool -K left tso off"),
    ("gso", "ethtool -K left gso off"),
    ("tx-checksum", "ethtool -K left tx off"),
    ("scatter-gather", "ethtool -K left sg off"),
    ("one-queue", "ethtool -L left rx 1 tx 1"),
    ("tcp-options", "sysctl -qw net.ipv4.tcp_sack=0 net.ipv4.tcp_window_scaling=0"),
    ("buffers-tcp", "sysctl -qw net.ipv4.tcp_rmem='4096 65536 65536'"),
    ("reverse-path", "sysctl -qw net.ipv4.conf.all.rp_filter=1"),
    ("mtu-of-lower", "ip link set right mtu 9000"),
    ("super-frames", "ip link set left gso_max_segs 1 gro_max_size 2000"),
    ("arp", "sysctl -qw net.ipv4.conf.left.arp_ignore=8"),
    ("sysctl-range", "sysctl -qw net.ipv4.tcp_limit_output_bytes=4096 net.ipv4.ip_local_port_range='40000 40015'"),
];

#[test]
fn what_is_fixed_is_mended_and_is_as_it_was_when_it_is_taken_back() {
    let several = "ethtool -K left sg off tx off; ethtool -L left rx 1; sysctl -qw net.ipv4.tcp_sack=0; ip link set right mtu 9000";
    for (rule, setup) in MENDED.iter().copied().chain([("", several)]) {
        let only = if rule.is_empty() { String::new() } else { format!("--only {rule}") };
        let commands = format!(
            "{BINARY} doctor left --fix=traffic --yes {only} || [ $? = 3 ]; ! same >/dev/null || exit 4; \
             {BINARY} doctor left --json | grep '\"rule\": \"{rule}\"' && exit 5; \
             {BINARY} doctor --undo $(file); same || exit 6; {BINARY} doctor --undo $(file)"
        );
        let Some(out) = done(setup, &commands) else { return };
        assert!(out.contains("done ") && out.contains("doctor --undo "), "{rule}: {out}");
        assert!(!out.contains("refused") && out.ends_with("nothing to take back: it is so already\n"), "{rule}: {out}");
    }
}

#[test]
fn what_interrupts_traffic_is_changed_only_if_that_is_asked_for() {
    let setup = "ethtool -K left tso off; sysctl -qw net.ipv4.tcp_rmem='4096 65536 65536' net.ipv4.tcp_sack=0";
    let commands = format!(
        "off() {{ ethtool -k left | grep -q '^tcp-segmentation-offload: off'; }}; most() {{ sysctl -n net.ipv4.tcp_rmem | cut -f3; }}; set +e; \
         {BINARY} doctor left --fix --yes 2>&1; off && [ $(most) != 65536 ] || exit 4; \
         {BINARY} doctor left --fix=traffic --yes 2>&1; off && exit 5; [ $(sysctl -n net.ipv4.tcp_sack) = 0 ] || exit 6; \
         {BINARY} doctor left --fix=security --yes 2>&1; [ $? = 2 ] || exit 7; {BINARY} doctor left --fix traffic --yes 2>&1; [ $? = 2 ]"
    );
    let Some(out) = done(setup, &commands) else { return };
    let said = "changed only by --fix=traffic, as traffic is interrupted for a moment: tso\n";
    assert_eq!(out.matches(said).count(), 1, "{out}");
    assert!(out.contains("--fix security: no such value; give one of safe, traffic"), "{out}");
    assert!(out.contains("traffic: there is no such interface; the class is given by --fix=traffic"), "{out}");
}

/// A default route by a peer that goes down as soon as TSO is on.
const CUT: &str = "ip route add default via 10.0.0.2; off() { ethtool -k left | grep -q '^tcp-segmentation-offload: off'; }; \
                   cut() { while off; do sleep 0.02; done; nsenter -t $P -n ip link set right down; }; \
                   mend() { nsenter -t $P -n ip link set right up; awaits 'ping -c 1 -W 1 10.0.0.2 >/dev/null 2>&1'; }; set +e";
const FIX: &str = "doctor left --fix --only tso";

/// Changes of an interface by which the default route goes are kept only if it is there afterwards.
#[test]
fn a_change_that_cuts_the_way_here_is_taken_back() {
    let commands = format!(
        "{CUT}; {BINARY} {FIX} --yes 2>&1; off && exit 4; file | grep unconfirmed && exit 5; \
         {BINARY} doctor --undo $(file) && off && rm $(file) || exit 6; \
         cut & {BINARY} {FIX} --yes --within 6 2>&1; [ $? = 1 ] && off || exit 7; file && exit 8; mend; \
         cut & {BINARY} {FIX} --yes --within 6 >/dev/null 2>&1 & Q=$!; awaits '! off'; sleep 0.3; kill -9 $Q; wait $Q; off && exit 9; \
         {BINARY} doctor left 2>&1 >/dev/null; awaits off || exit 10; awaits '! file' || exit 11; mend; true"
    );
    let Some(out) = proven("ethtool -K left tso off", &commands) else { return };
    assert!(out.contains("this may cut the way to this machine (left): 10.0.0.2 answered before"), "{out}");
    assert!(out.contains("no answer any more from 10.0.0.2: all was taken back"), "{out}");
    assert!(
        out.contains("changes wait to be confirmed; to keep them: linerate doctor --confirm; to take them"),
        "{out}"
    );
}

/// The way to the other end of an ssh session is one not to be cut, though sudo takes it out of the environment.
#[test]
fn the_way_of_a_session_over_ssh_is_known() {
    let fix = format!("{BINARY} {FIX} --yes 2>&1; {BINARY} doctor --undo $(file) >/dev/null && off && rm $(file)");
    let commands = format!(
        "{CUT}; ip route del default; {fix} || exit 4; echo ==; export SSH_CONNECTION='10.0.0.2 5 10.0.0.1 22'; {fix} || exit 5; \
         sh -c 'env -u SSH_CONNECTION {BINARY} {FIX} --yes 2>&1; true'; {BINARY} doctor --undo $(file) >/dev/null && off"
    );
    let Some(out) = proven("ethtool -K left tso off", &commands) else { return };
    let (before, behind) = out.split_once("==").unwrap();
    let said = "this may cut the way to this machine (left): 10.0.0.2 answered before";
    assert_eq!([before, behind].map(|part| part.matches(said).count()), [0, 2], "{out}");
}

#[test]
fn a_change_that_may_cut_the_way_here_is_to_be_confirmed() {
    let asks = |input: &str, within: u32, more: &str| {
        format!("{{ echo yes; {input}; }} | script -qec '{BINARY} {FIX} --within {within}' /dev/null {more}")
    };
    let commands = format!(
        "{CUT}; {}; off || exit 4; file && exit 5; {}; off && exit 6; {BINARY} doctor --undo $(file) && rm $(file) && off || exit 7; \
         {} & Q=$!; awaits 'file 2>/dev/null | grep -q unconfirmed && ! off'; sleep 1; {BINARY} doctor --confirm || exit 8; wait $Q; off && exit 9; \
         {BINARY} doctor --confirm 2>&1 && exit 10; {BINARY} doctor --undo $(file) && off",
        asks("sleep 9", 5, ""),
        asks("sleep 3; echo", 60, ""),
        asks("sleep 15", 60, ""),
    );
    let Some(out) = proven("ethtool -K left tso off", &commands) else { return };
    assert!(
        out.contains("Keep this? Enter within ") && out.contains("it was not confirmed: all was taken back"),
        "{out}"
    );
    assert!(out.contains("Kept. To take it back: linerate doctor --undo "), "{out}");
    assert!(out.contains("no changes wait to be confirmed"), "{out}");
}

/// Regression: --fix switched on what somebody had switched off on purpose, and loosened what guards.
#[test]
fn what_is_meant_or_guards_stays_as_it_is() {
    let setup = "ip link add tunnel type vxlan id 7 dstport 4789 local 10.0.0.1 dev left; ip link set tunnel up; \
                 ethtool -K tunnel tx off; ethtool -L left rx 2; sysctl -qw net.ipv4.conf.all.rp_filter=1 net.ipv4.tcp_sack=0";
    let commands = format!(
        "off() {{ ethtool -k tunnel | grep -q '^tx-checksumming: off'; }}; off || exit 4; \
         {BINARY} doctor --fix --yes 2>&1 || [ $? = 3 ]; off && same || exit 5; \
         {BINARY} doctor tunnel --fix --yes --only tx-checksum || [ $? = 3 ]; off || exit 6; \
         {BINARY} doctor left --fix --yes --only reverse-path || [ $? = 3 ]; [ $(sysctl -n net.ipv4.conf.all.rp_filter) = 2 ] || exit 7"
    );
    let Some(out) = done(setup, &commands) else { return };
    assert!(out.contains("changed only if they are named (--only RULE): ") && out.contains("tcp-options"), "{out}");
}

#[test]
fn what_others_have_changed_meanwhile_is_left_alone() {
    let commands = format!(
        "{BINARY} doctor left --fix --yes --only mtu-of-lower >/dev/null || [ $? = 3 ]; ip link set left mtu 4000; \
         {BINARY} doctor --undo $(file) 2>&1 && exit 4; [ $(cat /sys/class/net/left/mtu) = 4000 ]"
    );
    let Some(out) = done("ip link set right mtu 9000", &commands) else { return };
    assert!(out.contains("left mtu: it is 4000, which was not set here: left as it is"), "{out}");
}

#[test]
fn without_a_terminal_nothing_is_changed_unless_it_is_said() {
    let commands = format!(
        "set +e; {BINARY} doctor left --fix=traffic </dev/null 2>&1; [ $? = 2 ] && same && ! file 2>/dev/null; \
         echo yes >$D/in; script -qec '{BINARY} doctor left --fix=traffic' /dev/null <$D/in; same && exit 5; {BINARY} doctor --undo $(file) >/dev/null && same; \
         rm $(file); echo no >$D/in; script -qec '{BINARY} doctor left --fix=traffic' /dev/null <$D/in; same"
    );
    let Some(out) = done("ethtool -K left tso off", &commands) else { return };
    assert!(out.contains("there is no terminal; give --yes"), "{out}");
    assert!(out.contains("Make these changes? [y/N]") && out.contains("nothing was changed"), "{out}");
}

#[test]
fn an_undo_file_that_is_wrong_or_of_elsewhere_is_refused_in_one_line() {
    let commands = format!(
        "{BINARY} doctor left --fix --yes --only tso >/dev/null || [ $? = 3 ]; F=$(file); set +e; \
         for change in s/tx-tcp-segmentation/x/ 's/\"boot\": \"[^\"]*/\"boot\": \"0/' 's/\"namespace\": /\"namespace\": 1/' s/schema/scheme/ 's/true/[1]/' s/undo/redo/ \
         's/\"setting\": {{/\"file\": \"etc\\/shadow\", \"setting\": {{/'; do \
         sed \"$change\" $F >$D/wrong; echo \"== $change\"; {BINARY} doctor --undo $D/wrong; echo \"code $?\"; done 2>&1; \
         {BINARY} doctor --undo /dev/null 2>&1; {BINARY} doctor --undo $D/none 2>&1; {BINARY} doctor --undo $D 2>&1; exit 0"
    );
    let Some(out) = done("ethtool -K left tso off", &commands) else { return };
    let parts: Vec<&str> = out.split("== ").skip(1).collect();
    assert_eq!(parts.len(), 7, "{out}");
    for part in &parts {
        assert!(part.contains("code 1\n") || part.contains("code 2\n"), "{part}");
        assert!(!part.contains("panicked") && !part.contains("again\n"), "{part}");
    }
    assert!(parts[1].contains("before the machine's last start") && parts[2].contains("network namespace"), "{out}");
}

/// Killed at any moment, the undo file makes all as it was.
#[test]
fn a_disk_that_is_full_and_an_output_that_is_closed_cost_no_setting() {
    let fix = format!("{BINARY} doctor left --fix --yes --only tso");
    let undo = format!("{BINARY} doctor --undo $(file) >/dev/null && rm $(file)");
    let commands = format!(
        "set +e; mount -t tmpfs -o size=8k none $D; mkdir -p $D/linerate/undo; dd if=/dev/zero of=$D/fill bs=4k 2>/dev/null; \
         isoff() {{ ethtool -k left | grep -q '^tcp-segmentation-offload: off'; }}; \
         said=$({fix} 2>&1); [ $? = 1 ] && isoff || exit 4; echo \"$said\"; rm $D/fill; \
         {fix} >/dev/full 2>$D/said; [ $? = 1 ] && grep -q 'No space' $D/said && ! isoff || exit 5; {undo} && isoff || exit 6; \
         {fix} >&-; ! isoff || exit 7; {undo} && isoff || exit 8; \
         for at in $(seq 20); do {fix} >/dev/null & Q=$!; sleep 0.2; kill -TERM $Q; wait $Q; C=$?; [ $C = 0 ] || [ $C = 3 ] || break; {undo}; done; \
         [ $C = 143 ] && isoff || exit 9; \
         mount -o remount,ro $D; {fix} 2>&1 && exit 10; isoff || exit 11; umount $D"
    );
    let Some(out) = done("ethtool -K left tso off", &commands) else { return };
    for words in ["No space left on device", "Read-only file system", "nothing was changed"] {
        assert!(out.contains(words), "{words}: {out}");
    }
}

#[test]
fn a_fix_that_is_killed_is_taken_back() {
    let setup = "ethtool -K left sg off tx off tso off; ethtool -L left rx 1; sysctl -qw net.ipv4.tcp_sack=0; ip link set right mtu 9000";
    let kills = std::env::var("LINERATE_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(8);
    // Half a second passes between the two looks at the counters; then it is over in some milliseconds.
    let commands = format!(
        "for at in $(seq {kills}); do {BINARY} doctor left --fix=traffic --yes >/dev/null 2>&1 & P=$!; sleep 0.5$(shuf -i 0-9 -n 1)$(shuf -i 0-9 -n 1); \
         kill -9 $P 2>/dev/null; wait $P; for f in $(file 2>/dev/null); do {BINARY} doctor --undo $f || exit 4; rm $f; done; same || exit 5; done"
    );
    done(setup, &format!("set +e; {commands}"));
}

/// A peer in a namespace of its own, and what it serves.
const PEER: &str = "space P; ip link set right netns $P; \
                    nsenter -t $P -n sh -c 'ip addr add 10.0.0.2/24 dev right; ip link set right up; ip link set lo up'; carrier";

fn proven(setup: &str, commands: &str) -> Option<String> {
    let whole = format!(
        "{PEER}; nsenter -t $P -n timeout 900 {BINARY} stream -s >/dev/null 2>&1 & S=$!; nsenter -t $P -n timeout 900 {BINARY} netserver -D >/dev/null 2>&1 & N=$!; \
         for port in 5201 12865; do awaits \"nsenter -t $P -n ss -Hltn | grep -q :$port\"; done; same() {{ {BINARY} nic diff left $D/left && now | diff $D/now -; }}; {commands}"
    );
    done(setup, &whole)
}

#[test]
fn a_proof_measures_in_turns_and_leaves_all_as_it_was() {
    let commands = format!(
        "{BINARY} doctor left --prove --yes --peer 10.0.0.2 --rounds 2 --only tso,slow-start-after-idle,tcp-options --for tcp || [ $? = 3 ]; same || exit 4; file && exit 5; true"
    );
    let Some(out) = proven("ethtool -K left tso off; sysctl -qw net.ipv4.tcp_sack=0", &commands) else { return };
    for (rule, load) in [("tso", "TCP_STREAM"), ("tcp-options", "TCP_STREAM"), ("slow-start-after-idle", "TCP_RR")] {
        let part = out.split(&format!("[{rule}]")).nth(1).unwrap_or_else(|| panic!("{rule}: {out}"));
        let part = part.split("\n\n").next().unwrap();
        assert!(part.contains("  before") && part.contains("  changed") && part.contains(load), "{rule}: {out}");
        assert!(part.contains("(95 %)"), "{rule}: {out}");
    }
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
}

#[test]
fn a_proof_that_is_ended_or_killed_is_taken_back() {
    let kills = std::env::var("LINERATE_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(3);
    let prove = format!("{BINARY} doctor left --prove --yes --peer 10.0.0.2 --only tso,tcp-options");
    let commands = format!(
        "set +e; {prove} >/dev/null & Q=$!; awaits \"grep -q 'SigCgt:.*[2367abef]$' /proc/$Q/status\"; sleep 2.3; kill -INT $Q; wait $Q; [ $? = 130 ] && same || exit 4; \
         for at in $(seq {kills}); do {prove} >/dev/null 2>&1 & Q=$!; sleep 1.$(shuf -i 0-9 -n 1)$(shuf -i 0-9 -n 1); kill -9 $Q; wait $Q; \
         {BINARY} doctor left --fix --yes --only duplex >/dev/null; same || exit 5; file && exit 6; done 2>/dev/null; true"
    );
    proven("ethtool -K left tso off; sysctl -qw net.ipv4.tcp_sack=0", &commands);
}

#[test]
fn a_proof_that_was_killed_is_told_of_until_it_is_taken_back() {
    let commands = format!(
        "set +e; {BINARY} doctor left --prove --yes --peer 10.0.0.2 --only tso --rounds 100 >/dev/null 2>&1 & Q=$!; \
         awaits 'file >/dev/null 2>&1'; {BINARY} doctor left 2>&1 >/dev/null | grep halfway && exit 4; kill -9 $Q; wait $Q; \
         {BINARY} doctor left 2>&1 >/dev/null; eval \"$({BINARY} doctor left 2>&1 >/dev/null | sed -n 's|.*back: linerate|{BINARY}|p')\"; \
         file && exit 5; same || exit 6; {BINARY} doctor left 2>&1 >/dev/null | grep halfway && exit 7; true"
    );
    let Some(out) = proven("ethtool -K left tso off", &commands) else { return };
    assert!(out.contains("an earlier --prove was ended halfway, and what it tried may still be set; to take it back: linerate doctor --undo "), "{out}");
}

#[test]
fn what_cannot_be_proven_says_why() {
    let commands = format!(
        "set +e; {BINARY} doctor left --prove --yes --peer 192.0.2.1 --only tso 2>&1; {BINARY} doctor left --prove --yes --peer 127.0.0.1 --only tso 2>&1; \
         {BINARY} doctor left --prove --yes 2>&1; {BINARY} doctor left --prove --peer 10.0.0.2 --only nosuch 2>&1; same"
    );
    let Some(out) = done("ethtool -K left tso off", &commands) else { return };
    for words in ["192.0.2.1", "127.0.0.1 is reached by lo, not by left", "--peer", "no such rule"] {
        assert!(out.contains(words), "{words}: {out}");
    }
}

#[test]
fn what_a_peer_without_an_agent_answers_is_told() {
    let ask = |peer: &str| format!("{BINARY} doctor left --json --peer {peer} || [ $? = 3 ]");
    let nsenter = "nsenter -t $P -n";
    for (setup, peer, rule) in [
        ("true", "10.0.0.2", ""),
        (&*format!("ip link set left mtu 9000; {nsenter} ip link set right mtu 1400"), "10.0.0.2", "path-mtu"),
        ("true", "10.0.0.9", "peer-silent"),
    ] {
        let Some(out) = proven("true", &format!("{setup}; {}", ask(peer))) else { return };
        let document: serde_json::Value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}"));
        let all = document["findings"].as_array().unwrap();
        let of_peer: Vec<&str> =
            all.iter().filter(|one| one["subject"] == peer).map(|one| one["rule"].as_str().unwrap()).collect();
        let answers = if rule == "peer-silent" {
            "0 of 4 echo requests answered."
        } else {
            "20 of 20 echo requests answered in "
        };
        assert!(document["peer"].as_str().unwrap().contains(answers), "{out}");
        assert_eq!(of_peer, if rule.is_empty() { vec![] } else { vec![rule] }, "{out}");
        // A virtual pair takes a VLAN tag more than its MTU.
        let largest = all.iter().any(|one| one["what"].as_str().unwrap().starts_with("packets of up to 1404 bytes"));
        assert_eq!(largest, rule == "path-mtu", "{out}");
    }
}
