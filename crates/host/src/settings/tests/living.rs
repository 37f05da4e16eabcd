//! Tests of a living process: its changes, and those that are refused.

use super::*;

#[test]
fn a_living_process_puts_everything_back_in_reverse() {
    let Some(scene) = Scene::new() else { return };
    let directory = scene.directory();
    scene.inside(|| {
        let mut ethtool = Ethtool::open().unwrap();
        let before = (scene.pair.link("va").unwrap(), ethtool.features("va").unwrap(), ethtool.channels("va").unwrap());
        let fewer = crate::Channels { rx: 2, tx: 2, ..before.2 };
        let mut changed = Settings::open(&directory).unwrap();
        assert_eq!(scene.records().len(), 0, "nothing is changed yet");
        changed.set("va", Setting::Mtu(1500)).unwrap();
        assert_eq!(scene.records().len(), 0, "nothing is changed by what is so already");
        for setting in [Setting::Mtu(1400), gro(true), Setting::Channels(fewer), Setting::Up(false), Setting::Mtu(1300)]
        {
            changed.set("va", setting).unwrap();
        }
        let now = scene.pair.link("va").unwrap();
        assert_eq!((now.mtu, now.up, ethtool.channels("va").unwrap()), (1300, false, fewer));
        let undone = changed.undo();
        let words = ["up on", "channels 4 4 0", "feature rx-gro off", "mtu 1500"];
        assert_eq!(undone.restored, words.map(|word| format!("va: {word} again")), "{undone:?}");
        let after = scene.pair.link("va").unwrap();
        assert_eq!((after.mtu, after.up), (before.0.mtu, before.0.up));
        assert_eq!((ethtool.features("va").unwrap(), ethtool.channels("va").unwrap()), (before.1, before.2));
        assert_eq!(scene.records().len(), 0);
    });
}

#[test]
fn what_is_refused_leaves_nothing() {
    let Some(scene) = Scene::new() else { return };
    let directory = scene.directory();
    scene.inside(|| {
        let mut changed = Settings::open(&directory).unwrap();
        let fixed = Setting::Feature { name: "tx-checksum-ipv4".into(), on: true };
        let file = |path: &str| Setting::File { path: path.into(), value: "1".into() };
        for (interface, setting, says) in [
            ("va", Setting::Mtu(10), "va: setting its MTU"),
            ("va", fixed, "stays off"),
            ("va", Setting::Feature { name: "no-such".into(), on: true }, "no feature 'no-such'"),
            ("nosuch", Setting::Mtu(1400), "no such interface"),
            ("va", file("queues/rx-0/rps_cpus"), "another network namespace"),
            ("va", file("../../../../../etc/passwd"), "va: "),
        ] {
            let line = changed.set(interface, setting).unwrap_err().to_string();
            assert!(line.contains(says) && !line.contains('\n'), "{line}");
            assert_eq!(scene.records().len(), 0, "{line}");
        }
        changed.set("va", Setting::Mtu(1400)).unwrap();
        let kept = fs::read(&scene.records()[0]).unwrap();
        changed.set("va", Setting::Mtu(10)).unwrap_err();
        assert_eq!(fs::read(&scene.records()[0]).unwrap(), kept, "what was changed before stays noted");
        drop(changed);
        assert_eq!(scene.mtu(), 1500);
    });
}

#[test]
fn no_way_leads_out_of_an_interfaces_directory() {
    let mut hands = match Hands::open() {
        Ok(hands) => hands,
        Err(e) => return linerate_skip::skip!("{e}"),
    };
    let link = hands.links.link("lo").unwrap();
    for path in ["../lo/mtu", "", "queues//x", "/etc/passwd", "subsystem/lo/mtu", ".", "a b", "queues/../mtu"] {
        let e = hands.read(&link, &Key::File(path.into())).unwrap_err().to_string();
        assert!(e.contains("no file of its own") || e.contains("another network namespace"), "{path}: {e}");
    }
}

#[test]
fn a_directory_that_others_can_write_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o777)).unwrap();
    for error in [Settings::open(scratch.path()).err().unwrap(), recover(scratch.path()).unwrap_err()] {
        assert!(error.to_string().contains("others can write there"), "{error}");
    }
    assert!(recover(&scratch.path().join("none")).unwrap().left.is_empty());
}

/// A setting that could not be put back after a death is not changed.
#[test]
fn without_a_record_nothing_is_changed() {
    let Some(scene) = Scene::new() else { return };
    let directory = scene.directory();
    scene.inside(|| {
        let mut changed = Settings::open(&directory).unwrap();
        changed.set("va", Setting::Mtu(1400)).unwrap();
        fs::rename(&directory, scene.scratch.path().join("moved")).unwrap();
        let line = changed.set("va", gro(true)).unwrap_err().to_string();
        assert!(line.contains("writing the record") && !line.contains('\n'), "{line}");
        assert!(!scene.gro());
        // Earlier changes are put back all the same, and the record that stays is reported.
        let undone = changed.undo();
        assert_eq!((scene.mtu(), undone.restored.len(), undone.left.len()), (1500, 1, 1), "{undone:?}");
    });
}
