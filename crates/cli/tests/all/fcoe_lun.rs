//! Tests of `linerate fcoe lun` and of SIGHUP: the LUNs of a target change while initiators use it.
#![cfg(target_os = "linux")]

use crate::process::{BINARY, LIMIT, Process, SEARCH};
use crate::rig;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Runs `linerate fcoe …`: its exit code and all that it says.
fn fcoe(dir: &Path, arguments: &[&str]) -> (i32, String) {
    let mut command = Command::new("timeout");
    command.arg(LIMIT.as_secs().to_string()).args([BINARY, "fcoe"]).args(arguments).current_dir(dir);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.code().unwrap(), said)
}

/// A file of zeros.
pub(crate) fn disk(dir: &Path, name: &str, mib: u64) {
    std::fs::File::create(dir.join(name)).unwrap().set_len(mib << 20).unwrap();
}

/// LUNs and their bytes, as an initiator lists them.
pub(crate) fn listed(dir: &Path, port: &str) -> Vec<String> {
    let (code, said) = fcoe(dir, &[&["ls", "-i", port][..], &SEARCH].concat());
    assert_eq!(code, 0, "{said}");
    said.lines()
        .map(|line| line.split_whitespace().filter(|word| word.parse::<u64>().is_ok()).collect::<Vec<_>>().join(" "))
        .collect()
}

#[test]
fn luns_come_grow_and_go_while_the_target_runs() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let name = format!("lun-{}", std::process::id());
    let (theirs, ours) = (format!("cable:{name}{{1,mtu=2180"), format!("cable:{name}}}1"));
    let target = Process::linerate(&["fcoe", "target", "-i", &theirs, "--lun", "0=ram:16M"], "LUN 0");
    let lun =
        |words: &[&str]| fcoe(dir, &[&["lun", words[0], "-i", &format!("cable:{name}{{1")], &words[1..]].concat());
    disk(dir, "a disk", 4);
    let (code, said) = lun(&["add", "3=file:a disk,serial=S3", "5=null:1G"]);
    assert!(
        code == 0 && said.contains("/a disk,serial=S3, 4194304 bytes") && said.contains("LUN 5: null:1G"),
        "{said}"
    );
    assert_eq!(listed(dir, &ours), ["0 16777216", "3 4194304", "5 1073741824"]);
    // The file has an owner now.
    assert!(Command::new("flock").args(["-n"]).arg(dir.join("a disk")).arg("true").status().unwrap().code() == Some(1));

    disk(dir, "a disk", 6);
    let (code, said) = lun(&["resize", "3"]);
    assert!(code == 0 && said.contains("6291456 bytes"), "{said}");
    // A target is named alike in both; by NAME, too, where it is shown.
    let (_, shown) = fcoe(dir, &["show", "-i", &format!("cable:{name}{{1")]);
    assert!(shown.contains("serial=S3, 6291456 bytes: ") && shown.contains("LUN 5: null:1G"), "{shown}");
    assert_eq!(listed(dir, &ours)[1], "3 6291456");

    for (words, why) in [
        (&["add", "3=ram:1M"][..], "LUN 3 is taken"),
        (&["add", "4=file:nothing"], "it is not there"),
        (&["resize", "0"], "LUN 0: a device of its kind keeps its size"),
        (&["remove", "9"], "there is no LUN 9"),
        (&["deny", "20:00:02:00:00:00:00:01"], "is not allowed anything"),
        (&["allow", "20:00:02:00:00:00:00:01=9"], "there is no LUN 9"),
    ] {
        let (code, said) = lun(words);
        assert!(code == 2 && said.contains(why) && said.lines().count() == 1, "{words:?}: {code} {said}");
    }

    let known = "20:00:02:00:00:00:00:01";
    let (code, said) = lun(&["allow", &format!("{known}=0,3")]);
    assert_eq!((code, said), (0, format!("{known} sees LUN 0, 3\n")));
    assert_eq!(lun(&["allow", &format!("{known}=3")]), (0, format!("{known} sees LUN 0, 3\n")), "each once");
    let nothing = |words: &[&str]| {
        let (code, said) = fcoe(dir, &[words, &["--timeout", "3"]].concat());
        assert!(code == 1 && said.contains("no LUN was found"), "{said}");
    };
    nothing(&["ls", "-i", &ours]);
    let named = [&["ls", "-i", &ours, "--mac", "02:00:00:00:00:01"][..]].concat();
    assert_eq!(fcoe(dir, &[&named[..], &SEARCH].concat()).1.lines().count(), 2);
    assert!(lun(&["add", "6=ram:1M"]).1.contains("note: nobody may see it: linerate fcoe lun allow WWPN=6"));
    assert_eq!(lun(&["deny", known]), (0, format!("{known} sees LUN none\n")));
    nothing(&named);

    assert_eq!(lun(&["remove", "3", "5"]), (0, "LUN 3: removed\nLUN 5: removed\n".into()));
    assert!(Command::new("flock").args(["-n"]).arg(dir.join("a disk")).arg("true").status().unwrap().success());
    target.stop();
}

/// A device that does not answer delays the request for it alone: the target tells what it has, and ends.
#[test]
fn a_device_that_hangs_delays_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let silent = std::os::unix::net::UnixListener::bind(dir.join("silent")).unwrap();
    let port = format!("cable:hang-{}{{1", std::process::id());
    let mut command = Command::new(BINARY);
    command.args(["fcoe", "target", "-i", &port, "--lun", "0=ram:1M", "--json", "--status", "1"]);
    let target = Process::ready(command, "{");
    let device = format!("1=nbd+unix:///?socket={}", dir.join("silent").display());
    let mut command = Command::new(BINARY);
    command.args(["fcoe", "lun", "add", "-i", &port, &device]);
    let asks = Process::start(command);
    let _held = silent.accept().unwrap();
    let (code, shown) = fcoe(dir, &["show", &port]);
    assert!(code == 0 && shown.contains("LUN 0: ram:1M"), "{code} {shown}");
    target.signal("INT");
    let mut target = target;
    // A device has 10 s to answer.
    assert!(target.ends_within(Duration::from_secs(7)), "it waits for the device");
    let ended = target.end();
    let last = ended.out.lines().last().unwrap();
    assert!(last.contains(r#""schema":"linerate.fcoe.target""#) && last.contains("LUN 0: ram:1M"), "{ended:?}");
    let asked = asks.end();
    assert!(asked.code == Some(1) && asked.log.contains("does not answer"), "{asked:?}");
}

/// SIGHUP makes of the LUNs what the file says; a file that is wrong changes nothing.
#[test]
fn a_target_reads_its_file_again_at_sighup() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let name = format!("hup-{}", std::process::id());
    let ours = format!("cable:{name}}}1");
    let write = |luns: &[(u16, &str)], more: &str| {
        let luns: String =
            luns.iter().map(|(lun, device)| format!("[[lun]]\nlun = {lun}\ndevice = \"{device}\"\n")).collect();
        std::fs::write(dir.join("target.toml"), format!("port = \"cable:{name}{{1,mtu=2180\"\n{luns}{more}")).unwrap();
    };
    let grows = format!("file:{}", dir.join("grows").display());
    disk(dir, "grows", 4);
    write(&[(0, "ram:16M"), (1, "ram:1M"), (2, &grows)], "");
    let file = dir.join("target.toml");
    let mut target = Process::linerate(&["fcoe", "target", "--config", file.to_str().unwrap()], "LUN 2");
    assert_eq!(listed(dir, &ours).len(), 3);
    disk(dir, "grows", 5);
    write(&[(0, "ram:16M"), (2, &grows), (7, "null:1G")], "");
    target.signal("HUP");
    target.until("LUN 1: removed");
    target.until("5242880 bytes");
    target.until("LUN 7: null:1G");
    assert_eq!(listed(dir, &ours), ["0 16777216", "2 5242880", "7 1073741824"]);
    write(&[(0, "ram:16M"), (0, "ram:1M")], "");
    target.signal("HUP");
    let line = target.until("nothing is changed");
    assert!(line.contains("lun 0: it stands twice"), "{line}");
    write(&[(0, "ram:16M"), (2, &grows)], "[[allow]]\nwwpn = \"20:00:02:00:00:00:00:01\"\nluns = [2]\n");
    target.signal("HUP");
    target.until("20:00:02:00:00:00:00:01 sees LUN 2");
    assert!(fcoe(dir, &["ls", "-i", &ours, "--timeout", "3"]).1.contains("no LUN was found"));
    let named = ["ls", "-i", &ours, "--mac", "02:00:00:00:00:01", SEARCH[0], SEARCH[1]];
    assert_eq!(fcoe(dir, &named).1.lines().count(), 1);
    target.stop();
}

/// The kernel's initiator is told of each change, sees the disk that has come, and the size that has changed.
#[test]
fn the_kernels_initiator_follows() {
    if !rig::is_there() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    disk(dir.path(), "disk", 8);
    let port = format!("unix:{}:{},mtu=2500", path("us"), path("vm"));
    let target = Process::linerate(&["fcoe", "target", "-i", &port, "--lun", "0=ram:16M"], "LUN 0");
    // Linux tells of the attention when the next command comes, and scans when it is asked to.
    let command = r"wait_for() { i=0; until eval $1 || [ $i = 600 ]; do sg_turs $DISK >/dev/null 2>&1; usleep 100000; i=$((i+1)); done; eval $1 && echo IT-IS $2; }
        scan() { for h in /sys/class/scsi_host/host*/scan; do echo '- - -' > $h; done; }
        echo BEGUN; wait_for 'dmesg | grep -q LUN.assignments.on.this.target.have.changed' told; scan
        wait_for '[ -e /sys/block/sdb ]' added; cat /sys/block/sdb/size
        wait_for '{ echo 1 > /sys/block/sdb/device/rescan; [ $(cat /sys/block/sdb/size) = 32768 ]; }' grown
        dd if=/dev/urandom of=/tmp/p bs=1M count=1 2>/dev/null; dd if=/tmp/p of=/dev/sdb bs=1M seek=15 oflag=direct 2>&1 | tail -1
        dd if=/dev/sdb bs=1M skip=15 iflag=direct 2>/dev/null | cmp - /tmp/p && echo SAME
        wait_for '! dd if=/dev/sdb of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null' gone
        sg_turs $DISK; sg_turs $DISK; dd if=$DISK of=/dev/null bs=1M count=4 iflag=direct 2>/dev/null && echo ALL-DONE";
    let mut machine = rig::initiator(&format!("{}:{}", path("vm"), path("us")), &["--cmd", command]);
    let lun = |words: &[&str]| {
        let said = fcoe(
            dir.path(),
            &[&["lun", words[0], "-i", &format!("unix:{}:{}", path("us"), path("vm"))], &words[1..]].concat(),
        );
        assert_eq!(said.0, 0, "{}", said.1);
    };
    machine.until("BEGUN");
    lun(&["add", "1=file:disk"]);
    machine.until("IT-IS told");
    machine.until("IT-IS added");
    disk(dir.path(), "disk", 16);
    lun(&["resize", "1"]);
    machine.until("IT-IS grown");
    machine.until("SAME");
    lun(&["remove", "1"]);
    machine.until("IT-IS gone");
    let said = machine.done();
    assert!(said.contains("ALL-DONE"), "{said}");
    target.stop();
}

/// True if a file has only zeros.
fn is_empty(dir: &Path, name: &str) -> bool {
    std::fs::read(dir.join(name)).unwrap().iter().all(|byte| *byte == 0)
}

/// A load on an export of NBD, one write after the other at each place of 16, which ends with its first error.
fn load(dir: &Path, socket: &str, export: &str) -> Process {
    let mut fio = Command::new("fio");
    let uri = format!("--uri=nbd+unix:///{export}?socket={socket}");
    fio.args(["--name=n", "--ioengine=nbd", &uri, "--rw=randwrite", "--bs=4k", "--iodepth=16", "--size=4M"]);
    fio.args(["--time_based", "--runtime=200"]).current_dir(dir);
    Process::ready(fio, "connected to NBD server")
}

/// Bytes of an export as a client that connects now is told them; None if it is told of none.
fn size(socket: &str, export: &str) -> Option<u64> {
    let uri = format!("nbd+unix:///{export}?socket={socket}");
    let output = Command::new("timeout").args(["20", "nbdinfo", "--size", &uri]).output().unwrap();
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().parse().unwrap())
}

/// The initiator's exports follow their LUNs: another disk under a LUN's number is never written, and ends its export.
#[test]
fn exports_follow_the_luns_and_never_lead_to_another_disk() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let name = format!("follow-{}", std::process::id());
    let (theirs, ours) = (format!("cable:{name}{{1"), format!("cable:{name}}}1"));
    disk(dir, "a", 16);
    disk(dir, "b", 16);
    let a = format!("0=file:{}", dir.join("a").display());
    let target = Process::linerate(&["fcoe", "target", "-i", &theirs, "--lun", &a], "LUN 0");
    let lun = |words: &[&str]| {
        let (code, said) = fcoe(dir, &[&["lun", words[0], "-i", &theirs], &words[1..]].concat());
        assert_eq!(code, 0, "{said}");
    };
    let socket = dir.join("nbd").display().to_string();
    let nbd = format!("unix:{socket}");
    let mut initiator = Process::linerate(&["fcoe", "initiator", "-i", &ours, "--nbd", &nbd], "/0: LINERATE");
    let busy = load(dir, &socket, "");
    lun(&["remove", "0"]);
    lun(&["add", "0=file:b"]);
    let busy = busy.end();
    assert!(busy.code != Some(0), "{busy:?}");
    initiator.until("/0: it is another disk than before");
    assert!(is_empty(dir, "b") && !is_empty(dir, "a"));
    assert_eq!(size(&socket, ""), None, "it is not offered");

    lun(&["remove", "0"]);
    lun(&["add", "0=file:a"]);
    initiator.until("/0: the disk is back");
    assert_eq!(size(&socket, ""), Some(16 << 20));
    disk(dir, "a", 24);
    lun(&["resize", "0"]);
    initiator.until("/0: its size has changed from 16777216 to 25165824 bytes");
    assert_eq!(size(&socket, ""), Some(24 << 20));
    lun(&["add", "1=file:b"]);
    initiator.until("/1: LINERATE");
    lun(&["remove", "1"]);
    initiator.until("/1: the target has no such disk any more");
    initiator.stop();
    target.stop();
}

/// Regression: the default export was whichever LUN had answered first, and another one after a restart of the initiator.
#[test]
fn the_default_export_is_the_only_lun_and_never_another_one() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let name = format!("default-{}", std::process::id());
    let (theirs, ours) = (format!("cable:{name}{{1"), format!("cable:{name}}}1"));
    let target = Process::linerate(&["fcoe", "target", "-i", &theirs, "--lun", "0=ram:1M"], "LUN 0");
    let lun = |words: &[&str]| {
        let (code, said) = fcoe(dir, &[&["lun", words[0], "-i", &theirs], &words[1..]].concat());
        assert_eq!(code, 0, "{said}");
    };
    let socket = dir.join("nbd").display().to_string();
    let nbd = format!("unix:{socket}");
    let start = || Process::linerate(&["fcoe", "initiator", "-i", &ours, "--nbd", &nbd], "/0: LINERATE");
    let mut initiator = start();
    assert_eq!(size(&socket, ""), Some(1 << 20));
    initiator.until("/0, the only LUN that was found");
    lun(&["add", "1=ram:2M"]);
    let second = initiator.until("/1: LINERATE");
    assert_eq!(size(&socket, ""), None);
    initiator.until("a client without an export's name is refused");
    lun(&["remove", "0"]);
    initiator.until("/0: the target has no such disk any more");
    assert_eq!(size(&socket, ""), None, "it was another one before");
    assert_eq!(size(&socket, second.split([' ']).nth(1).unwrap().trim_end_matches(':')), Some(2 << 20));
    initiator.stop();

    lun(&["add", "0=ram:1M"]);
    let mut initiator = start();
    assert_eq!(size(&socket, ""), None, "it may be any of the two");
    initiator.until("a client without an export's name is refused");
    // A description tells disks apart.
    let uri = format!("nbd+unix:///?socket={socket}");
    let output = Command::new("timeout").args(["20", "nbdinfo", "--list", "--no-content", &uri]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let described: Vec<&str> = said.lines().filter(|line| line.contains("LINERATE ram, 3")).collect();
    assert!(matches!(described[..], [one, two] if one != two), "{said}");
    initiator.stop();
    target.stop();
}

/// Regression: another file that was moved to the path of a LUN's file was taken for the same disk, and written.
#[test]
fn another_file_at_the_same_path_ends_the_export_and_is_not_written() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let name = format!("moved-{}", std::process::id());
    let (theirs, ours) = (format!("cable:{name}{{1"), format!("cable:{name}}}1"));
    for file in ["disk", "second", "third"] {
        disk(dir, file, 16);
    }
    let path = |name: &str| dir.join(name);
    let spec = format!("0=file:{}", path("disk").display());
    let serve = || Process::linerate(&["fcoe", "target", "-i", &theirs, "--lun", &spec], "LUN 0");
    let target = serve();
    let lun = |words: &[&str]| {
        let (code, said) = fcoe(dir, &[&["lun", words[0], "-i", &theirs], &words[1..]].concat());
        assert_eq!(code, 0, "{said}");
    };
    let socket = path("nbd").display().to_string();
    let nbd = format!("unix:{socket}");
    let mut initiator = Process::linerate(&["fcoe", "initiator", "-i", &ours, "--nbd", &nbd], "/0: LINERATE");
    let busy = load(dir, &socket, "");
    // What the LUN has stays in reach, to come back later.
    std::fs::hard_link(path("disk"), path("first")).unwrap();
    std::fs::rename(path("second"), path("disk")).unwrap();
    lun(&["remove", "0"]);
    lun(&["add", &spec]);
    let busy = busy.end();
    assert!(busy.code != Some(0), "{busy:?}");
    initiator.until("/0: it is another disk than before");
    assert!(is_empty(dir, "disk") && !is_empty(dir, "first"));
    assert_eq!(size(&socket, ""), None, "it is not offered");
    lun(&["remove", "0"]);
    std::fs::rename(path("first"), path("disk")).unwrap();
    lun(&["add", &spec]);
    initiator.until("/0: the disk is back");
    // The same at a restart of the target.
    let busy = load(dir, &socket, "");
    target.kill();
    std::fs::rename(path("third"), path("disk")).unwrap();
    let target = serve();
    let busy = busy.end();
    assert!(busy.code != Some(0), "{busy:?}");
    initiator.until("/0: it is another disk than before");
    assert!(is_empty(dir, "disk"));
    initiator.stop();
    target.stop();
}

/// Regression: a target told nobody that its LUN's file had been replaced, and that what was written would be gone with it.
#[test]
fn a_file_that_is_replaced_under_a_target_is_told_of() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let end = format!("cable:replaced-{}{{1", std::process::id());
    disk(dir, "disk", 1);
    disk(dir, "other", 1);
    let spec = format!("0=file:{}", dir.join("disk").display());
    let mut target = Process::linerate(&["fcoe", "target", "-i", &end, "--lun", &spec], "LUN 0");
    std::fs::rename(dir.join("other"), dir.join("disk")).unwrap();
    let told = target.until("disk is another file now");
    let copy = told.trim_end().rsplit(' ').next().unwrap();
    assert!(copy.starts_with(&format!("/proc/{}/fd/", target.id())), "{told}");
    assert_eq!(std::fs::metadata(copy).unwrap().len(), 1 << 20);
    let (code, said) = fcoe(dir, &["lun", "resize", "-i", &end, "0"]);
    assert!(code == 0 && said.contains("disk is another file now"), "{said}");
    let said = fcoe(dir, &["show", &end]).1;
    assert!(said.contains("disk is another file now"), "{said}");
    let said = target.stop();
    assert!(said.contains("linerate: LUN 0: ") && said.matches("disk is another file now").count() == 2, "{said}");
    // Where documents are printed, on standard error.
    let documents = ["--json", "--status", "1"];
    let arguments = [&["fcoe", "target", "-i", &end, "--lun", &spec], &documents[..]].concat();
    let mut target = Process::linerate(&arguments, "{");
    std::fs::remove_file(dir.join("disk")).unwrap();
    target.until("linerate: LUN 0: ");
    target.stop();
}

/// A file system in a file, mounted.
struct Mounted(std::path::PathBuf);

/// A file system that is frozen: what is written there waits.
struct Frozen<'a>(&'a Mounted);

impl Mounted {
    fn new(dir: &Path) -> Option<Self> {
        disk(dir, "image", 32);
        let at = dir.join("mounted");
        std::fs::create_dir(&at).unwrap();
        let run = |program: &str, arguments: &[&str]| {
            let output = Command::new(program).args(arguments).current_dir(dir).output();
            output.is_ok_and(|output| output.status.success())
        };
        assert!(run("mkfs.ext4", &["-q", "image"]));
        if !run("mount", &["-o", "loop", "image", "mounted"]) {
            linerate_skip::skip!("not permitted to mount");
            return None;
        }
        Some(Self(at))
    }

    fn freeze(&self) -> Frozen<'_> {
        assert!(Command::new("fsfreeze").arg("-f").arg(&self.0).status().unwrap().success());
        Frozen(self)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("-l").arg(&self.0).status();
        assert!(unmounted.is_ok_and(|status| status.success()) || std::thread::panicking());
    }
}

impl Drop for Frozen<'_> {
    fn drop(&mut self) {
        let thawed = Command::new("fsfreeze").arg("-u").arg(&self.0.0).status();
        assert!(thawed.is_ok_and(|status| status.success()) || std::thread::panicking());
    }
}

/// Regression: a LUN that was added again while its disk was slow to end what it had under way was refused as in use.
#[test]
fn a_lun_that_is_added_again_waits_until_its_file_is_closed() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let Some(mounted) = Mounted::new(dir) else { return };
    disk(&mounted.0, "disk", 16);
    let name = format!("again-{}", std::process::id());
    let (theirs, ours) = (format!("cable:{name}{{1"), format!("cable:{name}}}1"));
    let spec = format!("0=file:{}", mounted.0.join("disk").display());
    let target = Process::linerate(&["fcoe", "target", "-i", &theirs, "--lun", &spec], "LUN 0");
    let socket = dir.join("nbd").display().to_string();
    let nbd = format!("unix:{socket}");
    let initiator = Process::linerate(&["fcoe", "initiator", "-i", &ours, "--nbd", &nbd], "/0: LINERATE");
    let busy = load(dir, &socket, "");
    // Thawed before the target is waited for, whatever fails.
    let frozen = mounted.freeze();
    let (code, said) = fcoe(dir, &["lun", "remove", "-i", &theirs, "0"]);
    assert!(code == 0 && said.contains("closed when what it has under way has ended"), "{said}");
    let mut command = Command::new(BINARY);
    command.args(["fcoe", "lun", "add", "-i", &theirs, &spec]);
    let mut adds = Process::start(command);
    assert!(!adds.ends_within(Duration::from_secs(3)), "the file is not closed");
    drop(frozen);
    let added = adds.end();
    assert_eq!(added.code, Some(0), "{added:?}");
    busy.end();
    initiator.stop();
    target.stop();
}

/// Linux goes on with what it knows by a LUN's number, whatever it is told: our target refuses, until Linux asks again.
#[test]
fn the_kernels_initiator_does_not_write_another_disk() {
    if !rig::is_there() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    disk(dir.path(), "a", 8);
    disk(dir.path(), "b", 8);
    let port = format!("unix:{}:{},mtu=2500", path("us"), path("vm"));
    let a = format!("0=file:{}", path("a"));
    let target = Process::linerate(&["fcoe", "target", "-i", &port, "--lun", &a], "LUN 0");
    let command = r#"put() { dd if=/dev/urandom of=$DISK bs=4k count=64 seek=$1 oflag=direct conv=notrunc 2>/dev/null; }
        serial() { sg_inq --page=0x80 $DISK 2>/dev/null | grep -i serial; }; before=$(serial)
        put 0 && echo FIRST-WRITTEN; while put 128; do :; done; echo REFUSED
        until s=$(serial) && [ "$s" ] && [ "$s" != "$before" ]; do usleep 100000; done
        for i in 1 2 3 4 5; do put 0 && echo ON-THE-OTHER; done; echo STILL-REFUSED
        echo 1 > /sys/block/$(basename $DISK)/device/rescan; put 256 && echo WRITTEN-AGAIN"#;
    let mut machine = rig::initiator(&format!("{}:{}", path("vm"), path("us")), &["--cmd", command]);
    machine.until("FIRST-WRITTEN");
    for words in [["remove", "0"], ["add", "0=file:b"]] {
        let at = format!("unix:{}:{}", path("us"), path("vm"));
        let (code, said) = fcoe(dir.path(), &["lun", words[0], "-i", &at, words[1]]);
        assert_eq!(code, 0, "{said}");
    }
    machine.until("STILL-REFUSED");
    let said = machine.done();
    assert!(said.contains("WRITTEN-AGAIN"), "{said}");
    let other = std::fs::read(dir.path().join("b")).unwrap();
    assert!(other[..1 << 20].iter().all(|byte| *byte == 0), "what was meant for the disk before is on the other one");
    assert!(other[1 << 20..].iter().any(|byte| *byte != 0), "what was meant for this one is not");
    target.stop();
}

/// Linux's target takes a LUN away and gives its number to another disk: it tells those of other LUNs, and answers for this one
/// as if nothing were. Nothing is written there once the disk has been asked for its name, which is done every 5 s: what comes
/// before that, where no command met the moment without a disk, nobody can know.
#[test]
fn a_kernels_target_that_exchanges_a_disk_ends_its_export() {
    if !rig::is_there() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let link = |here: &str, there: &str| format!("{}:{}", path(here), path(there));
    let command = r"B=/sys/kernel/config/target/core; T=$(echo /sys/kernel/config/target/fc/*/tpgt_1); A=$(echo $T/acls/*)
        until [ -s /run/st/d0 ] && [ $(tr -d '\0' </run/st/d0 | wc -c) -gt 100000 ]; do usleep 200000; done
        rm $A/lun_0/l; rmdir $A/lun_0; rm $T/lun/lun_0/b; ln -s $B/fileio_0/d1 $T/lun/lun_0/b; mkdir $A/lun_0; ln -s $T/lun/lun_0 $A/lun_0/l
        echo EXCHANGED; sleep 15; N=$(tr -d '\0' </run/st/d1 | wc -c)
        sleep 3; echo WRITTEN-LATER $(($(tr -d '\0' </run/st/d1 | wc -c) - N))";
    let acl = ["--acl", "20:00:02:00:00:00:00:01", "--luns", "file:16 file:16", "--cmd", command];
    let mut machine = rig::machine("target", &link("vm", "us"), &acl);
    machine.until("TARGET-READY");
    let nbd = path("nbd");
    let port = format!("unix:{},mtu=2500", link("us", "vm"));
    let mac = "02:00:00:00:00:01";
    let arguments = ["fcoe", "initiator", "-i", &port, "--mac", mac, "--nbd", &format!("unix:{nbd}")];
    let mut initiator = rig::ours(&arguments);
    initiator.until("/0: LIO-ORG");
    let busy = load(dir.path(), &nbd, "20%3A00%3A52%3A54%3A00%3Afc%3A0e%3A02/0");
    machine.until("EXCHANGED");
    let busy = busy.end();
    assert!(busy.code != Some(0), "{busy:?}");
    initiator.line_with("/0: it is another disk than before, 60014050001");
    let said = machine.done();
    initiator.stop();
    assert!(said.contains("WRITTEN-LATER 0\n"), "{said}");
}
