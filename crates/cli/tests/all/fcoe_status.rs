//! Tests of the status of `linerate fcoe target` while it works: as lines, and as JSON.
#![cfg(target_os = "linux")]

use crate::process::{BINARY, Process, SEARCH, counter};
use serde_json::Value;

const INITIATOR: &str = "20:00:02:00:00:00:00:01";
/// Greatest number of views to look at, one a second.
const VIEWS: usize = 60;

/// A target that prints its status each second, and an initiator that reads from it over a link that damages some
/// frames. Either may open the link first.
fn under_load(name: &str, more: &[&str]) -> [Process; 2] {
    let name = format!("cable:{name}-{}", std::process::id());
    let (theirs, ours) = (format!("{name}{{1,mtu=2180"), format!("{name}}}1,mtu=2180,faults=corrupt:0.002/seed:1"));
    let target = ["fcoe", "target", "-i", &theirs, "--lun", "0=null:1T", "--status", "1"];
    let mut command = std::process::Command::new(BINARY);
    let target = Process::start({
        command.args(target).args(more);
        command
    });
    let mut command = std::process::Command::new(BINARY);
    command.args(["fcoe", "read", "-i", &ours, "--mac", "02:00:00:00:00:01", "/dev/null"]).args(SEARCH);
    [target, Process::start(command)]
}

/// First line with `words` for which `look` has a result.
fn first<T>(target: &mut Process, words: &str, look: impl Fn(&str) -> Option<T>) -> T {
    let found = (0..VIEWS).find_map(|_| look(&target.until(words)));
    found.unwrap_or_else(|| panic!("not in {VIEWS} lines with '{words}'"))
}

#[test]
fn lines_tell_who_is_logged_in_and_what_they_do() {
    let [mut target, initiator] = under_load("status", &[]);
    target.until(&format!("{INITIATOR} at "));
    // Fields: WWPN, N_Port_ID, queue N, N IOPS, read N MB/s, write N MB/s.
    // Requests are of 512 KiB; in a view that ends with many in flight, there are fewer bytes per request.
    let [queue, written] = first(&mut target, "IOPS", |line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!((words.len(), words[0], words[1]), (12, INITIATOR, "000001"), "{line}");
        let [queue, iops, read, written] = [3, 4, 7, 10].map(|at| words[at].parse::<f64>().unwrap());
        (queue > 0.0 && (0.25e6..1e6).contains(&(read * 1e6 / iops))).then_some([queue, written])
    });
    assert!((1.0..=16.0).contains(&queue) && written == 0.0, "{queue} {written}");
    first(&mut target, "1 logged in, ", |line| {
        let errors: u64 = line.split_once("exchanges; ")?.1.split(' ').next()?.parse().unwrap();
        assert!(line.contains(" frames with a wrong CRC, 0 dropped, ") && line.ends_with(" given up\n"), "{line}");
        (errors > 0).then_some(())
    });
    drop(initiator);
    target.until("0 logged in, 0 exchanges; ");
    let said = target.stop();
    assert!(counter(&said, "frames_bad_crc") > 0 && counter(&said, "commands") > 0, "{said}");
}

#[test]
fn json_has_the_same() {
    let [mut target, initiator] = under_load("json", &["--json"]);
    let view = |line: &str| -> Value {
        let view: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        assert_eq!((&view["schema"], &view["version"]), (&"linerate.fcoe.target.status".into(), &1.into()));
        view
    };
    let errors = first(&mut target, "\"schema\"", |line| {
        let view = view(line);
        let initiator = view["initiators"].get(0)?;
        assert_eq!((&initiator["wwpn"], &initiator["fc_id"]), (&INITIATOR.into(), &"000001".into()), "{view}");
        let numbers = ["queue_depth", "iops", "read_bytes_per_s"].map(|name| initiator[name].as_f64().unwrap());
        assert_eq!(initiator["write_bytes_per_s"], 0.0, "{view}");
        assert!(["dropped", "aborted", "expired"].iter().all(|name| view["errors"][name].is_u64()), "{view}");
        let errors = view["errors"]["bad_crc"].as_u64().unwrap();
        let bytes = numbers[2] / numbers[1];
        let all = numbers.iter().all(|n| *n > 0.0) && errors > 0 && (0.25e6..1e6).contains(&bytes);
        (all && view["exchanges"].as_u64() > Some(0)).then_some(errors)
    });
    drop(initiator);
    first(&mut target, "\"schema\"", |line| view(line)["initiators"].as_array()?.is_empty().then_some(()));
    target.signal("INT");
    let ended = target.end();
    let last: Value = serde_json::from_str(ended.out.lines().last().unwrap()).unwrap();
    assert_eq!((ended.code, &last["schema"]), (Some(130), &"linerate.fcoe.target".into()), "{last}");
    assert_eq!(last["luns"][0]["lun"], 0, "{last}");
    assert!(last["counters"]["frames_bad_crc"].as_u64().unwrap() >= errors, "{last}");
    assert!(last["counters"]["bytes_sent"].as_u64() > Some(0) && last["counters"]["sessions"] == 1, "{last}");
}
