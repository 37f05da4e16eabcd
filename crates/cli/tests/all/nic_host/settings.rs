//! `nic set NAME`, `save`, `diff` and `restore`: set here and read by `ethtool` and `ip`, set by them and seen here.

use super::{apart, card, printed, run};
use linerate_skip::{is_installed, skip};
use std::fs;
use std::path::Path;
use std::process::Output;

/// True if both programs are installed; reported otherwise.
#[track_caller]
fn has_programs() -> bool {
    let missing = ["ethtool", "ip"].into_iter().find(|program| !is_installed(program));
    if let Some(program) = missing {
        skip!("{program} is not installed");
    }
    missing.is_none()
}

/// A veth pair `sa`, `sb` with four queues, a tap `st` and a bridge `sr`, in a namespace of their own.
fn beside_interfaces(test: impl FnOnce(&Path) + Send) {
    if !has_programs() {
        return;
    }
    apart(|| {
        let pair = "link add sa numtxqueues 4 numrxqueues 4 type veth peer name sb numtxqueues 4 numrxqueues 4";
        for words in [pair, "link add sr type bridge", "tuntap add st mode tap"] {
            printed("ip", &words.split(' ').collect::<Vec<_>>());
        }
        test(tempfile::tempdir().unwrap().path());
    });
}

/// Runs `linerate nic`: exit code, and both outputs.
pub(super) fn nic(words: &str) -> (i32, String, String) {
    let Output { status, stdout, stderr } = run(
        env!("CARGO_BIN_EXE_linerate"),
        &words.split(' ').fold(vec!["nic"], |mut all, word| {
            all.push(word);
            all
        }),
    );
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

#[track_caller]
pub(super) fn done(words: &str) -> String {
    let (code, out, errors) = nic(words);
    assert_eq!((code, errors.as_str()), (0, ""), "{words}: {out}");
    out
}

/// Value of a line of ethtool's, the last of that key.
pub(super) fn value(flag: &str, name: &str, key: &str) -> String {
    let text = if flag.is_empty() { printed("ethtool", &[name]) } else { printed("ethtool", &[flag, name]) };
    let line = text.lines().rev().find_map(|line| line.trim().strip_prefix(key)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("{key}: {text}")).trim().to_owned()
}

/// All that `ip` says of a link, but its queueing discipline, which the kernel gives it at the first start.
pub(super) fn ip(name: &str) -> String {
    let text = printed("ip", &["-d", "link", "show", "dev", name]);
    text.replace(" qdisc noop ", " ").replace(" qdisc noqueue ", " ")
}

#[test]
fn what_is_set_here_is_read_by_ethtool_and_ip() {
    beside_interfaces(|_| {
        let out =
            done("set sa -tso gro channels-rx=3 channels-tx=2 mtu=9000 txqueuelen=77 gso-max-size=30000 promisc up");
        for line in [
            "tx-tcp-segmentation: on -> off",
            "rx-gro: off -> on",
            "channels-rx: 4 -> 3",
            "channels-tx: 4 -> 2",
            "mtu: 1500 -> 9000",
            "txqueuelen: 1000 -> 77",
            "gso-max-size: 65536 -> 30000",
            "promisc: off -> on",
            "up: off -> on",
        ] {
            assert!(out.lines().any(|one| one == line), "{line}: {out}");
        }
        assert_eq!(value("-k", "sa", "tcp-segmentation-offload"), "off");
        assert_eq!(value("-k", "sa", "generic-receive-offload"), "on");
        assert_eq!((value("-l", "sa", "RX"), value("-l", "sa", "TX")), ("3".into(), "2".into()));
        let link = ip("sa");
        for word in ["mtu 9000", "qlen 77", "gso_max_size 30000", "PROMISC", "UP"] {
            assert!(link.contains(word), "{word}: {link}");
        }
        done("set st rx-frames=16 speed=1000 duplex=half mtu=1400 -sg");
        assert_eq!(value("-c", "st", "rx-frames"), "16");
        assert_eq!((value("", "st", "Speed"), value("", "st", "Duplex")), ("1000Mb/s".into(), "Half".into()));
        assert!(value("-k", "st", "scatter-gather") == "off" && ip("st").contains("mtu 1400"));
        done("set sr -GSO mtu=1400");
        assert!(value("-k", "sr", "generic-segmentation-offload") == "off" && ip("sr").contains("mtu 1400"));
        // Changes stay, and what is so already is not touched.
        assert_eq!(done("set sa mtu=9000 -tso"), "nothing changed: it is so already\n");
        // A feature that only waits for another is switched off for good.
        done("set sa tso");
        done("set sa -txcsum");
        assert_eq!(value("-k", "sa", "tx-tcp-segmentation"), "off [requested on]");
        done("set sa -tso");
        assert_eq!(value("-k", "sa", "tx-tcp-segmentation"), "off");
    });
}

#[test]
fn what_others_set_is_seen_and_put_back() {
    beside_interfaces(|dir| {
        for (name, changes) in [
            (
                "sa",
                &[
                    ("ethtool -K sa tso off", "tx-tcp-segmentation: off here, on in the file"),
                    ("ethtool -K sa gro on", "rx-gro: on here, off in the file"),
                    ("ethtool -L sa rx 2", "channels-rx: 2 here, 4 in the file"),
                    ("ip link set sa mtu 4000", "mtu: 4000 here, 1500 in the file"),
                    ("ip link set sa txqueuelen 5", "txqueuelen: 5 here, 1000 in the file"),
                    ("ethtool -K sa tx off", "tx-checksum-ip-generic: off here, on in the file"),
                    ("ip link set sa up", "up: on here, off in the file"),
                ][..],
            ),
            (
                "st",
                &[
                    ("ethtool -C st rx-frames 9", "rx-frames: 9 here, 0 in the file"),
                    ("ethtool -s st speed 100 duplex half", "speed: 100 here, 10000 in the file"),
                    ("ip link set st mtu 900", "mtu: 900 here, 1500 in the file"),
                ],
            ),
            (
                "sr",
                &[
                    ("ethtool -K sr sg off", "tx-scatter-gather: off here, on in the file"),
                    ("ip link set sr allmulticast on", "allmulti: on here, off in the file"),
                ],
            ),
        ] {
            let file = dir.join(name);
            let file = file.to_str().unwrap();
            let (before, link) = (printed("ethtool", &["-k", name]), ip(name));
            let saved = done(&format!("save {name} {file}"));
            assert!(saved.contains(" settings saved in "), "{saved}");
            assert_eq!(done(&format!("diff {name} {file}")), "", "nothing differs");
            for (command, _) in changes {
                let words: Vec<_> = command.split(' ').collect();
                printed(words[0], &words[1..]);
            }
            let (code, out, _) = nic(&format!("diff {name} {file}"));
            assert_eq!(code, 3, "{out}");
            for (command, line) in changes {
                assert!(out.lines().any(|one| one == *line), "{command}: {line}: {out}");
            }
            let out = done(&format!("restore {name} {file}"));
            assert!(out.lines().count() >= changes.len() && out.lines().all(|line| line.contains(" -> ")), "{out}");
            assert_eq!(done(&format!("diff {name} {file}")), "");
            assert_eq!((printed("ethtool", &["-k", name]), ip(name)), (before, link), "as it was, by their words too");
            assert_eq!(done(&format!("restore {name} {file}")), "nothing changed: it is so already\n");
        }
    });
}

#[test]
fn refusals_have_the_kernels_words_and_the_rest_is_set() {
    beside_interfaces(|_| {
        for (words, line) in [
            ("mtu=99999", "mtu: refused 99999: mtu greater than device maximum: Invalid argument; it is 1500"),
            (
                "channels-rx=9",
                "channels-rx: refused 9: requested channel count exceeds maximum: Invalid argument; it is 4",
            ),
            ("tx-checksum-ipv4", "tx-checksum-ipv4: refused on: its driver has it fixed; it is off"),
            ("ring-rx=64", "ring-rx: refused 64: Operation not supported; it is none"),
            ("speed=40000", "speed: refused 40000: Operation not supported; it is 10000"),
            ("rss=2", "rss: refused 2: Operation not supported; it is none"),
        ] {
            let (code, out, errors) = nic(&format!("set sa {words} txqueuelen=900"));
            assert_eq!((code, errors.lines().count()), (1, 1), "{words}: {out} {errors}");
            assert!(out.lines().any(|one| one == line), "{line}: {out}");
            assert!(ip("sa").contains("qlen 900"), "{words}");
            done("set sa txqueuelen=1000");
        }
        done("set sa -txcsum");
        let (code, out, _) = nic("set sa tso4");
        let line =
            "tx-tcp-segmentation: refused on: it is requested, and off while something that it needs is off; it is off";
        assert!(code == 1 && out.lines().any(|one| one == line), "{out}");
    });
}

#[test]
fn a_wrong_file_is_refused_before_anything_is_touched() {
    beside_interfaces(|dir| {
        let file = dir.join("settings");
        let path = file.to_str().unwrap();
        done(&format!("save sa {path}"));
        let good = fs::read_to_string(&file).unwrap();
        fs::write(&file, good.replace("mtu = 1500", "mtu = 1400").replace("up = false", "up = perhaps")).unwrap();
        let line = good.lines().position(|line| line == "up = false").unwrap() + 1;
        for command in ["restore", "diff"] {
            let (code, out, errors) = nic(&format!("{command} sa {path}"));
            assert_eq!((code, out.as_str()), (2, ""), "{errors}");
            assert!(errors.contains(&format!("{path}: line {line}: ")), "{errors}");
        }
        assert!(ip("sa").contains("mtu 1500"), "nothing was touched");
        // A file of another interface: what is not there is said, and refused.
        done(&format!("save st {path}"));
        let (code, out, _) = nic(&format!("diff sa {path}"));
        assert!(out.contains("rx-frames: not compared: Operation not supported; 0 in the file\n"), "{code} {out}");
        assert!(out.contains("channels-rx: not compared: it is not in the file; 4 here\n"), "{out}");
        let (code, out, _) = nic(&format!("restore sa {path}"));
        assert!(code == 1 && out.contains("rx-frames: refused 0: Operation not supported; it is none\n"), "{out}");
        // The interface goes.
        printed("ip", &["link", "del", "sa"]);
        for command in ["restore", "diff", "save"] {
            let (code, out, errors) = nic(&format!("{command} sa {path}"));
            assert_eq!((code, out.as_str()), (2, ""), "{errors}");
            assert!(errors.contains("sa: no such interface here"), "{errors}");
        }
    });
}

#[test]
fn the_machines_own_settings_are_kept_if_asked_for() {
    beside_interfaces(|dir| {
        let file = dir.join("settings");
        let path = file.to_str().unwrap();
        done(&format!("save sa {path}"));
        assert!(!fs::read_to_string(&file).unwrap().contains("tcp_rmem"));
        done(&format!("save sa {path} --sysctl"));
        let text = fs::read_to_string(&file).unwrap();
        let congestion = fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").unwrap();
        assert!(text.contains(&format!("\"net.ipv4.tcp_congestion_control\" = \"{}\"\n", congestion.trim())), "{text}");
        let text: String = text
            .lines()
            .map(|line| match line.starts_with("\"net.ipv4.tcp_rmem\"") {
                true => "\"net.ipv4.tcp_rmem\" = \"4096 8192 98304\"\n".to_owned(),
                false => format!("{line}\n"),
            })
            .collect();
        fs::write(&file, text).unwrap();
        assert_eq!(nic(&format!("diff sa {path}")).0, 3);
        // /proc/sys shows the namespace of who reads it, which is that of the command.
        let out = done(&format!("restore sa {path}"));
        assert!(out.starts_with("net.ipv4.tcp_rmem: ") && out.ends_with(" -> 4096 8192 98304\n"), "{out}");
        assert_eq!(done(&format!("diff sa {path}")), "");
    });
}

#[test]
fn recorded_cards_are_saved_and_compared() {
    let dir = tempfile::tempdir().unwrap();
    for (tree, name, lines) in [
        ("ice-e810", "eth0", &["combined = 32", "fec = \"off\"", "rx-usecs = 50"][..]),
        ("ixgbe-82599", "ens2f0", &["\"private.legacy-rx\" = false", "rss = 4", "pause-rx = true", "ring-rx = 512"]),
        ("mlx5-connectx", "p3p1", &["fec = \"auto,rs\"", "autoneg = true", "cqe-mode-rx = true"]),
    ] {
        let (file, tree) = (dir.path().join(tree), card(tree));
        let (path, tree) = (file.to_str().unwrap(), tree.to_str().unwrap());
        done(&format!("save {name} {path} --from {tree}"));
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.starts_with(&format!("# Settings of {name}: driver ")), "{text}");
        for line in lines {
            assert!(text.lines().any(|one| one == *line), "{line}: {text}");
        }
        assert_eq!(done(&format!("diff {name} {path} --from {tree}")), "");
        fs::write(&file, text.replace("mtu = ", "mtu = 1")).unwrap();
        let (code, out, _) = nic(&format!("diff {name} {path} --from {tree}"));
        assert!(code == 3 && out.starts_with("mtu: "), "{out}");
    }
}

/// While settings are changed again and again, the interface goes: that is said in one line, and nothing hangs.
#[test]
fn an_interface_that_vanishes_is_said_in_one_line() {
    beside_interfaces(|dir| {
        let file = dir.join("settings");
        let path = file.to_str().unwrap();
        done(&format!("save st {path}"));
        let mut seen = 0;
        for round in 0..20_u64 {
            printed("ip", &["link", "set", "st", "mtu", "1300"]);
            std::thread::scope(|scope| {
                let all = scope.spawn(|| nic(&format!("restore st {path}")));
                // A little earlier or later each time.
                std::thread::sleep(std::time::Duration::from_micros(200 * round));
                printed("ip", &["link", "del", "st"]);
                let (code, _, errors) = all.join().unwrap();
                if code != 0 {
                    seen += 1;
                    assert!(errors.lines().count() == 1 && !errors.contains("panicked"), "{errors}");
                    // While the kernel takes it apart it still shows it, and refuses changes.
                    let told = ["went away", "no such interface", "refused"];
                    assert!(told.iter().any(|words| errors.contains(words)), "{errors}");
                }
            });
            printed("ip", &["tuntap", "add", "st", "mode", "tap"]);
        }
        assert!(seen > 0, "it never went away in time");
    });
}

/// Without the privilege nothing changes, and the kernel's words are said; a file that cannot be written is no success.
#[test]
fn what_is_not_permitted_is_said() {
    if !is_installed("setpriv") {
        return skip!("setpriv is not installed");
    }
    beside_interfaces(|_| {
        let linerate = env!("CARGO_BIN_EXE_linerate");
        let words =
            ["--inh-caps", "-all", "--bounding-set", "-all", "--", linerate, "nic", "set", "sa", "mtu=1400", "-gso"];
        let out = run("setpriv", &[&["--reuid", "65534", "--clear-groups"], &words[..]].concat());
        let (said, errors) = (String::from_utf8(out.stdout).unwrap(), String::from_utf8(out.stderr).unwrap());
        if said.is_empty() {
            return skip!("another user cannot run this program: {errors}");
        }
        for line in [
            "tx-generic-segmentation: refused off: Operation not permitted; it is on",
            "mtu: refused 1400: Operation not permitted; it is 1500",
        ] {
            assert!(said.lines().any(|one| one == line), "{said}");
        }
        assert_eq!(errors, "linerate nic set: sa: 2 settings were refused; run as root, or with CAP_NET_ADMIN\n");
        assert!(out.status.code() == Some(1) && ip("sa").contains("mtu 1500"));
        let (code, out, errors) = nic("save sa /dev/full");
        assert!(code == 1 && out.is_empty() && errors.contains("No space left on device"), "{code} {out} {errors}");
        assert_eq!(nic("save sa /dev/null/file").0, 2);
    });
}
