//! Tests on real interfaces in namespaces of their own, changed by processes that are killed.

mod living;

use super::recover::{newest_first, restore};
use super::*;
use crate::{Ethtool, Namespace, Rtnetlink, VethPair};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Environment variable that turns the test program into the child: a directory and an order.
const CHILD: &str = "LINERATE_SETTINGS_CHILD";
const LIMIT: Duration = Duration::from_secs(30);
const CPUS: &str = "queues/rx-0/rps_cpus";

/// A pair `va`, `vb` in a namespace of its own, and a directory for records.
struct Scene {
    space: Namespace,
    pair: VethPair,
    scratch: tempfile::TempDir,
}

/// A child that is killed when this value is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Scene {
    /// None, with the reason, if a privilege or a feature of the kernel is missing.
    fn new() -> Option<Self> {
        let space = linerate_skip::permitted(Namespace::new(), |e| e.cause == Cause::Capability)?;
        if let Err(e) = Ethtool::open() {
            linerate_skip::skip!("{e}");
            return None;
        }
        let pair = space.run_in(|| VethPair::new(["va", "vb"], 4, 1500)).unwrap().unwrap();
        Some(Self { space, pair, scratch: tempfile::tempdir().unwrap() })
    }

    fn directory(&self) -> PathBuf {
        self.scratch.path().join("records")
    }

    fn ready(&self) -> PathBuf {
        self.scratch.path().join("ready")
    }

    fn inside<T: Send>(&self, run: impl FnOnce() -> T + Send) -> T {
        self.space.run_in(run).unwrap()
    }

    fn recover(&self) -> Undone {
        self.inside(|| recover(&self.directory())).unwrap()
    }

    /// Starts a process in the namespace, which sees its sysfs and carries out `order` in [`child`].
    fn start(&self, order: &str) -> Running {
        let _ = fs::remove_file(self.ready());
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", "mount -t sysfs none /sys && exec \"$0\" \"$@\""]);
        command.arg(std::env::current_exe().unwrap()).args(["--exact", "settings::tests::child"]);
        command.env(CHILD, format!("{}|{order}", self.scratch.path().display())).stdout(Stdio::null());
        Running(self.inside(|| command.spawn()).unwrap())
    }

    /// Like [`Scene::start`], but waits until the order is done.
    fn start_and_wait(&self, order: &str) -> Running {
        let mut child = self.start(order);
        let until = Instant::now() + LIMIT;
        while !self.ready().exists() {
            assert!(Instant::now() < until && child.0.try_wait().unwrap().is_none(), "{order}: it has ended");
            std::thread::sleep(Duration::from_millis(1));
        }
        child
    }

    fn records(&self) -> Vec<PathBuf> {
        newest_first(&self.directory()).unwrap()
    }

    fn mtu(&self) -> u32 {
        self.pair.link("va").unwrap().mtu
    }

    fn gro(&self) -> bool {
        self.pair.offloads("va").unwrap().gro
    }
}

fn gro(on: bool) -> Setting {
    Setting::Feature { name: "rx-gro".into(), on }
}

/// Orders of the child process. Without the variable this test does nothing.
#[test]
fn child() {
    let Ok(order) = std::env::var(CHILD) else { return };
    let (scratch, what) = order.split_once('|').unwrap();
    let scratch = Path::new(scratch);
    let directory = scratch.join("records");
    let cpus = || fs::read_to_string("/sys/class/net/va/queues/rx-0/rps_cpus").unwrap();
    if what == "recover" {
        let undone = recover(&directory).unwrap();
        assert!(undone.left.is_empty(), "{undone:?}");
        return fs::write(scratch.join("recovered"), cpus()).unwrap();
    }
    let mut changed = Settings::open(&directory).unwrap();
    let both = |changed: &mut Settings| {
        changed.set("va", Setting::Mtu(1400)).unwrap();
        changed.set("va", gro(true)).unwrap();
    };
    match what {
        "noted" => drop(changed.note("va", Setting::Mtu(1400)).unwrap()),
        "changed" => both(&mut changed),
        "half" => {
            changed.set("va", Setting::Mtu(1400)).unwrap();
            drop(changed.note("va", gro(true)).unwrap());
        }
        // Dies after it has put one of the two back.
        "undoing" => {
            both(&mut changed);
            assert!(matches!(restore(&mut changed.hands, &changed.record.changes[1]), Ok(true)));
        }
        "mtu" => changed.set("va", Setting::Mtu(1300)).unwrap(),
        "gro" => changed.set("va", gro(true)).unwrap(),
        "file" => {
            fs::write(scratch.join("before"), cpus()).unwrap();
            changed.set("va", Setting::File { path: CPUS.into(), value: "1".into() }).unwrap();
            assert_eq!(cpus().trim().trim_start_matches(['0', ',']), "1");
        }
        "busily" => loop {
            both(&mut changed);
            changed.put_back();
        },
        other => panic!("{other}"),
    }
    fs::write(scratch.join("ready"), "").unwrap();
    std::thread::sleep(2 * LIMIT);
}

#[test]
fn whenever_a_process_is_killed_everything_comes_back() {
    let Some(scene) = Scene::new() else { return };
    assert!(!scene.gro());
    for (order, mtu, gro) in
        [("noted", 1500, false), ("changed", 1400, true), ("half", 1400, false), ("undoing", 1400, false)]
    {
        let child = scene.start_and_wait(order);
        assert_eq!((scene.mtu(), scene.gro()), (mtu, gro), "{order}");
        let undone = scene.recover();
        assert!(undone.restored.is_empty() && undone.left.is_empty(), "{order}: it lives, {undone:?}");
        assert_eq!((scene.mtu(), scene.gro()), (mtu, gro), "{order}");
        drop(child);
        let undone = scene.recover();
        assert!(undone.left.is_empty(), "{order}: {undone:?}");
        assert_eq!(undone.restored.len(), usize::from(mtu != 1500) + usize::from(gro), "{order}: {undone:?}");
        assert_eq!((scene.mtu(), scene.gro(), scene.records()), (1500, false, Vec::new()), "{order}");
    }
}

/// Kills at arbitrary instructions.
#[test]
fn a_process_that_changes_and_puts_back_all_the_time_is_killed() {
    let Some(scene) = Scene::new() else { return };
    for round in 0..12u64 {
        let child = scene.start("busily");
        let until = Instant::now() + LIMIT;
        // From its first record on, after a different delay each time.
        while scene.records().is_empty() {
            assert!(Instant::now() < until, "it changes nothing");
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_micros(700 * round));
        drop(child);
        let undone = scene.recover();
        assert!(undone.left.is_empty(), "round {round}: {undone:?}");
        assert_eq!((scene.mtu(), scene.gro(), scene.records()), (1500, false, Vec::new()), "round {round}");
    }
}

#[test]
fn a_file_of_sysfs_comes_back_where_sysfs_shows_the_namespace() {
    let Some(scene) = Scene::new() else { return };
    let read = |name: &str| fs::read_to_string(scene.scratch.path().join(name)).unwrap();
    drop(scene.start_and_wait("file"));
    // Sysfs here shows another namespace: nothing is touched, and the record is kept for a process that sees the right
    // one.
    let undone = scene.recover();
    assert!(undone.left[0].to_string().contains("another network namespace"), "{undone:?}");
    assert_eq!((undone.restored.len(), scene.records().len()), (0, 1));
    let mut child = scene.start("recover");
    assert!(child.0.wait().unwrap().success());
    assert_eq!(read("recovered"), read("before"));
    assert_eq!(scene.records(), Vec::<PathBuf>::new());
}

#[test]
fn two_processes_have_a_record_each() {
    let Some(scene) = Scene::new() else { return };
    let one = scene.start_and_wait("mtu");
    let other = scene.start_and_wait("gro");
    assert_eq!(scene.records().len(), 2);
    drop(one);
    assert_eq!(scene.recover().restored, ["va: mtu 1500 again"]);
    assert_eq!((scene.mtu(), scene.gro(), scene.records().len()), (1500, true, 1));
    drop(other);
    assert_eq!(scene.recover().restored, ["va: feature rx-gro off again"]);
    assert!(!scene.gro());
    // Two records of one setting: the newest one is undone first.
    let first = scene.start_and_wait("changed");
    let second = scene.start_and_wait("mtu");
    assert_eq!(scene.mtu(), 1300);
    drop((first, second));
    let undone = scene.recover();
    assert_eq!((scene.mtu(), scene.gro(), undone.left.len()), (1500, false, 0), "{undone:?}");
}

#[test]
fn what_somebody_else_has_set_is_left_and_told() {
    let Some(scene) = Scene::new() else { return };
    drop(scene.start_and_wait("changed"));
    scene.inside(|| Rtnetlink::open().unwrap().set_mtu("va", 1450)).unwrap();
    let undone = scene.recover();
    let line = undone.left[0].to_string();
    assert!(line.contains("va: mtu is 1450") && line.contains("it was 1500"), "{line}");
    assert_eq!((undone.left.len(), scene.mtu(), scene.gro(), scene.records().len()), (1, 1450, false, 0));
}

#[test]
fn an_interface_that_is_gone_is_told() {
    let Some(mut scene) = Scene::new() else { return };
    drop(scene.start_and_wait("mtu"));
    // A new interface of the same name is a different one.
    scene.pair = scene.inside(|| VethPair::new(["vc", "vd"], 1, 1500)).unwrap();
    let _again = scene.inside(|| VethPair::new(["va", "vb"], 1, 1300)).unwrap();
    let undone = scene.recover();
    assert!(undone.left[0].to_string().contains("the interface is gone"), "{undone:?}");
    assert_eq!((scene.mtu(), scene.records().len()), (1300, 0));
}

#[test]
fn records_of_other_boots_are_deleted_and_those_of_other_namespaces_left() {
    let Some(scene) = Scene::new() else { return };
    drop(scene.start_and_wait("mtu"));
    let file = scene.records().remove(0);
    let elsewhere = Namespace::new().unwrap().run_in(|| recover(&scene.directory())).unwrap().unwrap();
    assert!(elsewhere.left.is_empty() && elsewhere.restored.is_empty() && file.exists());
    let record = Record::decode(&fs::read(&file).unwrap()).unwrap();
    let empty = Record { changes: Vec::new(), ..record.clone() };
    for other in [Record { boot: "another".into(), ..record }, empty] {
        fs::write(&file, other.encode()).unwrap();
        let undone = scene.recover();
        assert!(undone.left.is_empty() && undone.restored.is_empty() && !file.exists(), "{undone:?}");
        assert_eq!(scene.mtu(), 1300);
    }
}

#[test]
fn what_is_no_whole_record_is_named_and_left() {
    let Some(scene) = Scene::new() else { return };
    drop(scene.start_and_wait("mtu"));
    let file = scene.records().remove(0);
    let whole = fs::read(&file).unwrap();
    for end in 0..whole.len() {
        fs::write(&file, &whole[..end]).unwrap();
        let undone = scene.recover();
        let line = undone.left[0].to_string();
        assert!(line.starts_with(&file.display().to_string()) && line.contains("left as it is"), "{end}: {line}");
        assert_eq!((undone.left.len(), scene.mtu(), file.metadata().unwrap().len()), (1, 1300, end as u64));
    }
    // A link is refused too, and so is a file that others can write; a file without a record's name is ignored.
    fs::write(scene.directory().join("notes.txt"), "x").unwrap();
    fs::rename(&file, scene.directory().join("elsewhere")).unwrap();
    fs::write(scene.directory().join("elsewhere"), &whole).unwrap();
    std::os::unix::fs::symlink("elsewhere", &file).unwrap();
    assert!(scene.recover().left[0].what.contains("only its owner"));
    fs::remove_file(&file).unwrap();
    fs::rename(scene.directory().join("elsewhere"), &file).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    assert!(scene.recover().left[0].what.contains("only its owner"));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(scene.recover().restored, ["va: mtu 1500 again"]);
}
