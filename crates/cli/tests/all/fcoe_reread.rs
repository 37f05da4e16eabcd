//! Tests of SIGHUP with a configuration that is wrong: the target goes on with what it has, and says why.
#![cfg(target_os = "linux")]

use crate::fcoe_lun::{disk, listed};
use crate::process::Process;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A target that follows a file, and its other end.
struct Trial {
    dir: tempfile::TempDir,
    name: String,
    target: Process,
}

impl Trial {
    /// LUN 0 in memory, and LUNs 1 and 2 on files of 4 and 6 MiB.
    fn new(name: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let name = format!("{name}-{}", std::process::id());
        disk(dir.path(), "four", 4);
        disk(dir.path(), "six", 6);
        write(dir.path(), &name, &["ram:16M", "file:four", "file:six"]);
        let file = dir.path().join("target.toml");
        let target = Process::linerate(&["fcoe", "target", "--config", file.to_str().unwrap()], "LUN 2");
        Self { dir, name, target }
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join("target.toml")
    }

    fn write(&self, devices: &[&str]) {
        write(self.dir.path(), &self.name, devices);
    }

    fn sizes(&self) -> Vec<String> {
        listed(self.dir.path(), &format!("cable:{}}}1", self.name))
    }
}

/// Writes a file in which these devices are LUNs 0, 1 and so on; paths are in the directory.
fn write(dir: &Path, name: &str, devices: &[&str]) {
    let lun = |(lun, device): (usize, &&str)| {
        let device = device.replace("file:", &format!("file:{}/", dir.display()));
        format!("[[lun]]\nlun = {lun}\ndevice = \"{device}\"\n")
    };
    let luns: String = devices.iter().enumerate().map(lun).collect();
    fs::write(dir.join("target.toml"), format!("port = \"cable:{name}{{1,mtu=2180\"\n{luns}")).unwrap();
}

const ALL: [&str; 3] = ["0 16777216", "1 4194304", "2 6291456"];

#[test]
fn a_file_that_is_wrong_at_sighup_changes_nothing() {
    let mut trial = Trial::new("wrong");
    assert_eq!(trial.sizes(), ALL);
    let file = trial.file();
    let fifo = |file: &Path| {
        assert!(Command::new("mkfifo").arg(file).status().unwrap().success());
    };
    let gibibyte = |file: &Path| fs::File::create(file).unwrap().set_len(1 << 30).unwrap();
    type Make<'a> = &'a dyn Fn(&Path);
    let cases: [(&str, Make<'_>, &str); 8] = [
        ("missing", &|_| {}, "give a file that can be read"),
        ("empty", &|file| fs::write(file, "").unwrap(), "it has no LUN: write a [[lun]]"),
        ("a directory", &|file| fs::create_dir(file).unwrap(), "it is no file that can be read again: make it one"),
        ("a FIFO", &fifo, "it is no file that can be read again: make it one"),
        ("a device", &|file| std::os::unix::fs::symlink("/dev/zero", file).unwrap(), "it is no file that can be"),
        ("1 GiB", &gibibyte, "it is longer than 16777216 bytes: give"),
        (
            "not UTF-8",
            &|file| fs::write(file, b"port = \"\xff\"\n").unwrap(),
            "byte 8: it is no UTF-8: write it as text",
        ),
        ("zeros", &|file| fs::write(file, [0; 4096]).unwrap(), "line 1"),
    ];
    for (what, make, why) in cases {
        if file.is_dir() {
            fs::remove_dir(&file).unwrap()
        } else {
            fs::remove_file(&file).unwrap()
        }
        make(&file);
        trial.target.signal("HUP");
        let line = trial.target.until("nothing is changed");
        assert!(line.contains("target.toml: ") && line.contains(why), "{what}: {line}");
        assert_eq!(trial.sizes(), ALL, "{what}");
        if what == "missing" {
            fs::write(&file, "").unwrap();
        }
    }
    fs::remove_file(&file).unwrap();
    trial.write(&["ram:16M"]);
    trial.target.signal("HUP");
    trial.target.until("LUN 2: removed");
    assert_eq!(trial.sizes(), ALL[..1]);
    trial.target.stop();
}

#[test]
fn a_lun_whose_next_device_cannot_be_opened_goes_on_as_it_was() {
    let mut trial = Trial::new("next");
    trial.write(&["ram:16M", "file:nothing", "file:six"]);
    trial.target.signal("HUP");
    let line = trial.target.until("nothing: it is not there");
    assert!(line.contains("it goes on as it was"), "{line}");
    assert_eq!(trial.sizes(), ALL);
    // The same file has to be let go of first, and is taken back.
    fs::File::options().write(true).open(trial.dir.path().join("six")).unwrap().set_len((6 << 20) + 512).unwrap();
    trial.write(&["ram:16M", "file:four", "file:six,block=4096"]);
    trial.target.signal("HUP");
    let line = trial.target.until("is no number of blocks of 4096");
    assert!(line.contains("it goes on as it was"), "{line}");
    assert_eq!(trial.sizes(), [ALL[0], ALL[1], "2 6291968"]);
    trial.target.stop();
}

/// Regression: a LUN was taken away before its next file was seen to be that of another LUN, and came back after seconds.
#[test]
fn a_lun_whose_next_file_is_another_luns_is_not_interrupted() {
    let mut trial = Trial::new("taken");
    trial.write(&["ram:16M", "file:six", "file:six"]);
    trial.target.signal("HUP");
    let line = trial.target.line_with("it goes on as it was");
    assert!(line.contains("six: it is in use"), "{line}");
    assert_eq!(trial.sizes(), ALL);
    // Memory is everybody's.
    trial.write(&["ram:16M", "ram:16M", "file:six"]);
    trial.target.signal("HUP");
    trial.target.until("LUN 1: ram:16M");
    assert_eq!(trial.sizes(), [ALL[0], "1 16777216", ALL[2]]);
    let said = trial.target.stop();
    assert_eq!(said.matches("LUN 1: removed").count(), 1, "{said}");
}

#[test]
fn luns_take_each_others_files_at_sighup() {
    let mut trial = Trial::new("swap");
    trial.write(&["ram:16M", "file:six", "file:four"]);
    trial.target.signal("HUP");
    trial.target.until("LUN 2: file:");
    assert_eq!(trial.sizes(), [ALL[0], "1 6291456", "2 4194304"]);
    trial.target.stop();
}
