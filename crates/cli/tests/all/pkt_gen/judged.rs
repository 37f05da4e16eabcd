//! Tests of the exit codes of runs that do not pass, and of the line on standard error with the reason.

use super::output;
use linerate_port::capture::{Record, Writer};
use linerate_result::RunResult;

#[test]
fn what_must_not_be_a_pass_has_its_exit_code_and_a_line_that_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let (path, name) = (dir.path().join("cut.pcap"), format!("cable:judged{}", std::process::id()));
    let mut writer = Writer::create(&path).unwrap();
    for data in [&[7; 60][..], &[7; 80]] {
        writer.write(&Record { time_ns: 1, orig_len: u32::try_from(data.len()).unwrap(), data }).unwrap();
    }
    writer.flush().unwrap();
    drop(writer);
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 9]).unwrap();
    let cut = path.display();
    for (arguments, code, why) in [
        (format!("-i {name}{{1 -f tx -n 100 --seconds 0.3"), 1, "failed: nothing was sent: all frames were refused"),
        (format!("-i {name}{{1 -f rx --seconds 0.3"), 1, "nobody is at the far end; open cable:"),
        ("-i null: -f rx -n 100".to_owned(), 4, "partial: nothing could be checked: none of 100 frames"),
        (format!("-i null: -f tx --pcap {cut}"), 4, "partial: 1 records of the capture are damaged"),
        (format!("-i pcap:{cut} -f rx"), 4, "partial: 1 records of the capture are damaged"),
        (format!("-i {name}{{2,faults=dup:0.1/drop:0.1/corrupt:0.1 --to {name}}}2 -f tx -n 5000"), 0, "Ready..."),
        ("-i null: -f tx -n 100 -W -I".to_owned(), 0, "-W: has no effect with -f tx; left out"),
    ] {
        let (ended, out, log) = output(&format!("pkt-gen {arguments} --json"));
        assert_eq!(ended, Some(code), "{arguments}: {log}");
        assert!(log.lines().any(|line| line.contains(why)), "{arguments}: {log}");
        let result = RunResult::from_json(&out).unwrap();
        assert_eq!(result.exit_code(), u8::try_from(code).unwrap(), "{arguments}");
        assert_eq!(result.reasons.is_empty(), code == 0, "{arguments}: {:?}", result.reasons);
    }
}
