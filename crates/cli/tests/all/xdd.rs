//! Tests of `linerate xdd` as a program: the published command line, and what is printed of it.

use crate::process::{BINARY, Process};
use std::os::unix::fs::symlink;
use std::process::Command;

/// Exit code, standard output and standard error of `xdd`, the name by which the published lines call it.
fn xdd(line: &str) -> (Option<i32>, String, String) {
    let dir = tempfile::tempdir().unwrap();
    let link = dir.path().join("xdd");
    symlink(BINARY, &link).unwrap();
    let run = Command::new(&link).args(line.split_whitespace()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (run.status.code(), text(run.stdout), text(run.stderr))
}

/// The published line, on targets that are here: their names stand behind `-rwratio`, not behind `-targets`.
#[test]
fn the_published_line_of_xdd_runs_as_printed() {
    let (code, out, log) =
        xdd("-op read -targets 2 -rwratio 100 ram:1M null:1G -queuedepth 16 -reqsize 8 -blocksize 512 \
                                -numreqs 500 -runtime 2 -datapattern sequenced -maxall");
    assert_eq!(code, Some(0), "{log}");
    let lines: Vec<Vec<&str>> = out.lines().map(|line| line.split_whitespace().collect()).collect();
    let [head, units, row] = &lines[lines.len() - 3..] else { panic!("{out}") };
    let heading = "What Pass Target Queue Bytes_Xfered Ops Elapsed Bandwidth IOPS Latency Pct_CPU Op_Type Xfer_Size";
    assert_eq!(head.join(" "), heading);
    assert_eq!(
        units.join(" "),
        "UNITS>> Number Number Number Bytes #ops seconds MBytes/s Ops/s millisec percent text bytes"
    );
    assert_eq!((row.len(), row[0], &row[2..4], &row[11..]), (13, "COMBINED", &["2", "16"][..], &["read", "4096"][..]));
    let [bytes, ops] = [row[4], row[5]].map(|number| number.parse::<u64>().unwrap());
    assert!(ops >= 1000 && bytes == ops * 4096, "{out}");

    // With -sgio and the published names it goes on until the devices are opened: they are not of this machine.
    let (code, _, log) = xdd("-sgio -op read -targets 2 -rwratio 100 /dev/sg771 /dev/sg772 -queuedepth 16 -numreqs 9");
    assert!(code == Some(2) && log.contains("target 0 (/dev/sg771): ") && log.contains("No such file"), "{log}");
}

/// Regression: the file was made, and stayed, where the run was refused, or was a dry one.
#[test]
fn a_new_file_stays_only_if_the_run_takes_place() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("new");
    let run =
        |words: &str| xdd(&format!("-op write -targets 1 {} -blocksize 512 -reqsize 1 {words}", path.display())).0;
    for (words, code) in [("-bytes 700", 2), ("-numreqs 9 -dryrun", 0)] {
        assert_eq!((run(words), path.exists()), (Some(code), false), "{words}");
    }
    assert_eq!((run("-numreqs 9"), path.metadata().unwrap().len()), (Some(0), 9 * 512));
    // Who was there before stays.
    assert_eq!((run("-bytes 700"), path.metadata().unwrap().len()), (Some(2), 9 * 512));
}

/// A target that shows its LUNs to some initiators knows xdd by its name.
#[test]
fn the_name_of_xdd_as_an_initiator_can_be_chosen() {
    const WWPN: &str = "20:00:02:00:00:00:00:21";
    let cable = format!("cable:xdd-wwpn-{}", std::process::id());
    let ports = [format!("{cable}{{1"), format!("{cable}}}1")];
    let allow = format!("{WWPN}=0");
    let target =
        Process::linerate(&["fcoe", "target", "-i", &ports[0], "--lun", "0=ram:1M", "--allow", &allow], "LUN 0: ");
    let line =
        |more: &str| xdd(&format!("-op read -targets 1 fcoe:{} -blocksize 512 -reqsize 1 -numreqs 8 {more}", ports[1]));
    let (code, out, log) = line(&format!("--wwpn {WWPN}"));
    assert_eq!(code, Some(0), "{out}{log}");
    let (code, out, log) = line("--wwpn 20:00:02:00:00:00:00:22");
    assert!(code != Some(0), "{out}{log}");
    for (more, why) in [
        ("-targets 1 ram:1M", "--wwpn: only a LUN on a port"),
        ("-targets 1 fcoe:null:", "--wwpn 20:00: give a name as"),
    ] {
        let name = if more.contains("ram") { WWPN } else { "20:00" };
        let (code, _, log) = xdd(&format!("-op read {more} -numreqs 8 --wwpn {name}"));
        assert!(code == Some(2) && log.contains(why), "{log}");
    }
    target.stop();
}

#[test]
fn the_columns_of_xdd_can_be_chosen() {
    let (code, out, log) =
        xdd("-op read -target null:1M -reqsize 1 -numreqs 6 -outputformat new +OPS+READOPS+WRITEOPS");
    assert_eq!(code, Some(0), "{log}");
    let end = "        Ops    Read_Ops   Write_Ops\n       #ops        #ops        #ops\n          6           6           0\n";
    assert!(out.ends_with(end), "{out}");
    let (code, _, log) = xdd("-target null:1M -numreqs 6 -outputformat new +OPPS");
    assert_eq!(
        (code, log.as_str()),
        (Some(2), "xdd: -outputformat new +OPPS: +OPPS: no such column; did you mean +OPS?\n")
    );
}

/// Regression: up to 511 bytes at the end of a file were left out without a word.
#[test]
fn a_file_that_is_no_number_of_blocks_is_refused_with_the_mend_by_xdd_and_as_a_lun() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("odd");
    std::fs::write(&path, [0; 5000]).unwrap();
    let path = path.to_str().unwrap();
    let (code, _, log) = xdd(&format!("-op read -targets 1 {path} -blocksize 512 -reqsize 1 -numreqs 1"));
    let what = "its size, 5000 bytes, is no number of blocks of";
    let line = format!("target 0 ({path}): {what} 512; make it larger: truncate -s 5120 {path}");
    assert!(code == Some(2) && log.contains(&line), "{log}");
    let target = ["fcoe", "target", "-i", "null:", "--lun", &format!("0=file:{path},block=4096"), "--seconds", "1"];
    let run = Command::new(BINARY).args(target).output().unwrap();
    let log = String::from_utf8(run.stderr).unwrap();
    let line = format!("{path}: {what} 4096; make it larger: truncate -s 8192 {path}");
    assert!(!run.status.success() && log.contains(&line), "{log}");
}
