use super::*;
use crate::{Cause, Namespace, VethPair};

/// Runs `run` beside a pair `va`, `vb`; skips the test with the reason if that is impossible.
fn beside_a_pair(run: impl FnOnce(&VethPair) + Send) {
    match Namespace::new() {
        Ok(space) => {
            let inside = || {
                let pair = VethPair::new(["va", "vb"], 4, 1500).unwrap();
                if let Err(e) = Ethtool::open() {
                    assert_eq!(e.cause, Cause::Capability, "{e}");
                    return linerate_skip::skip!("{e}");
                }
                run(&pair);
            };
            space.run_in(inside).unwrap();
        }
        Err(e) if e.cause == Cause::Capability => linerate_skip::skip!("{e}"),
        Err(e) => panic!("{e}"),
    }
}

#[test]
fn features_have_the_kernels_names_and_a_list_the_programs() {
    beside_a_pair(|_| {
        let features = Ethtool::open().unwrap().features("va").unwrap();
        let gro = features.0["rx-gro"];
        assert!(gro.changeable && features.0["tx-checksum-ip-generic"].active, "{features:?}");
        assert!(!features.0["tx-checksum-ipv4"].changeable, "a veth has the generic one");
        let list = features.listed();
        for (name, on) in [("tx-checksumming", true), ("tx-checksum-ip-generic", true), ("tx-checksum-ipv4", false)] {
            assert_eq!(list.get(name), Some(&on), "{name} in {list:?}");
        }
        assert_eq!(list["generic-receive-offload"], gro.active);
        assert_eq!(list["tcp-segmentation-offload"], list["tx-tcp-segmentation"]);
        // A feature that is a family by itself is listed once.
        assert!(!list.contains_key("rx-gro") && list.contains_key("rx-gro-list"), "{list:?}");
        assert!(list.contains_key("highdma") && !list.contains_key(""));
        let members = ["tx-scatter-gather", "tx-scatter-gather-fraglist", "scatter-gather"];
        assert!(members.iter().all(|name| list.contains_key(*name)), "{list:?}");
    });
}

#[test]
fn a_feature_is_switched_by_name_and_others_stay() {
    beside_a_pair(|_| {
        let mut ethtool = Ethtool::open().unwrap();
        let before = ethtool.features("va").unwrap();
        let far = ethtool.features("vb").unwrap();
        ethtool.set_features("va", &[("tx-tcp6-segmentation", false), ("rx-gro", true)]).unwrap();
        let now = ethtool.features("va").unwrap();
        assert!(!now.0["tx-tcp6-segmentation"].active && now.0["rx-gro"].active);
        let differ: Vec<_> = now.0.iter().filter(|(name, feature)| before.0[*name] != **feature).collect();
        assert!(
            differ.iter().all(|(name, _)| ["tx-tcp6-segmentation", "rx-gro"].contains(&name.as_str())),
            "{differ:?}"
        );
        assert_eq!(ethtool.features("vb").unwrap(), far);
        // A fixed feature stays, without an error, as with the program.
        ethtool.set_features("va", &[("tx-checksum-ipv4", true)]).unwrap();
        assert!(!ethtool.features("va").unwrap().0["tx-checksum-ipv4"].active);
    });
}

/// A feature that needs another is off while that one is, and comes back with it, because it was still wanted.
#[test]
fn what_is_wanted_comes_back_with_what_it_needs() {
    beside_a_pair(|_| {
        let mut ethtool = Ethtool::open().unwrap();
        ethtool.set_features("va", &[("tx-checksum-ip-generic", false)]).unwrap();
        let tso = ethtool.features("va").unwrap().0["tx-tcp-segmentation"];
        assert!(tso.wanted && !tso.active, "{tso:?}");
        ethtool.set_features("va", &[("tx-checksum-ip-generic", true)]).unwrap();
        assert!(ethtool.features("va").unwrap().0["tx-tcp-segmentation"].active);
    });
}

#[test]
fn queues_are_counted() {
    beside_a_pair(|_| {
        let channels = Ethtool::open().unwrap().channels("va").unwrap();
        assert_eq!(channels.combined + channels.rx.min(channels.tx), 4, "{channels:?}");
        // Loopback's driver does not support the request.
        let e = Ethtool::open().unwrap().channels("lo").unwrap_err();
        assert!(e.cause == Cause::Capability && e.to_string().contains("does not know that"), "{e}");
    });
}

#[test]
fn a_driver_says_who_it_is() {
    beside_a_pair(|_| {
        let driver = Driver::of("va").unwrap();
        assert_eq!((driver.name.as_deref(), driver.firmware), (Some("veth"), None));
    });
}

#[test]
fn what_is_not_there_is_named_in_one_line() {
    beside_a_pair(|_| {
        let mut ethtool = Ethtool::open().unwrap();
        for name in ["nosuch", "", "a-name-beyond-15-bytes"] {
            let errors = [
                ethtool.features(name).unwrap_err(),
                ethtool.set_features(name, &[("rx-gro", false)]).unwrap_err(),
                ethtool.channels(name).unwrap_err(),
                Driver::of(name).unwrap_err(),
            ];
            for e in errors {
                let line = e.to_string();
                assert!(e.cause == Cause::Missing && line.contains(name) && !line.contains('\n'), "{line}");
            }
        }
        let e = ethtool.set_features("va", &[("no-such-feature", true)]).unwrap_err();
        assert!(e.to_string().starts_with("va: "), "{e}");
    });
}

/// Regression: a dummy lists `tx-lockless` among its own, which no program can switch.
#[test]
fn what_the_kernel_never_changes_is_fixed() {
    let set = |kind: u16, names: &[&str]| {
        let bits: String = names.iter().map(|name| format!("1 {{\n2 text {name}\n3 flag\n}}\n")).collect();
        format!("{kind} {{\n2 u32 2\n3 {{\n{bits}}}\n}}\n")
    };
    let own = ["rx-gro", "tx-lockless"];
    let text = |never: &str| format!("message\n{}{}{}{never}", set(2, &own), set(3, &own), set(4, &own));
    let changeable = |never: &str| {
        let answer = crate::adapter::recorded_answers(&text(never)).unwrap().remove(0);
        let features = Features::parse(&answer).unwrap();
        own.map(|name| features.0[name].changeable)
    };
    assert_eq!(changeable(&set(5, &["tx-lockless"])), [true, false]);
    // Of kernels that do not say.
    assert_eq!(changeable(""), [true, true]);
}
