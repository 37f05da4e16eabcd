//! Tests of command lines.

use super::*;
use crate::netperf::settings::{Buffers, Length};

fn parse(line: &str) -> Result<Config, String> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    match Config::parse(&words)? {
        Command::Run(config) => Ok(*config),
        Command::Print(text) => Err(text),
    }
}

#[test]
fn a_line_becomes_a_configuration() {
    let config = parse("-H 10.0.0.1,4 -t udp_stream -C -c -l 60 -- -m 1472 -s 128K -S 64k,1M").unwrap();
    let s = &config.settings;
    assert_eq!((s.test.name, &*s.host, s.length), ("UDP_STREAM", "10.0.0.1", Length::Time(60)));
    assert_eq!((s.local.send_size, s.local.cpu, s.remote.cpu, s.routing), (Some(1472), true, true, false));
    assert_eq!(s.local.buffers, Buffers { send: Some(131_072), receive: Some(131_072) });
    assert_eq!(s.remote.buffers, Buffers { send: Some(64_000), receive: Some(1 << 20) });
    let s = parse("-t TCP_RR -l -500 -P0 -fx -T 0,1 -a 64 -- -r 100,2K -D -P ,6666").unwrap().settings;
    assert_eq!((s.request, s.response, s.length, s.no_delay), (100, 2048, Length::Count(500), true));
    assert_eq!((s.local.pin, s.remote.pin, s.local.port, s.remote.port), (Some(0), Some(1), 0, 6666));
    assert_eq!((s.local.send.align, s.local.receive.align, s.remote.send.align), (64, 64, 8));
    let s = parse("-t TCP_MAERTS -cC -- -m ,9000 -M ,4096").unwrap().settings;
    assert_eq!((s.remote.send_size, s.local.receive_size), (Some(9000), Some(4096)));
    assert!(s.local.cpu && s.remote.cpu && s.host == "localhost");
    let s = parse("-Y ef,0x20 -y 5 -L 10.0.0.9 -j -F /dev/urandom -t TCP_MAERTS -- -H h,4 -L l").unwrap().settings;
    assert_eq!(
        (s.local.tos, s.remote.tos, s.local.priority, s.remote.priority),
        (Some(184), Some(32), Some(5), Some(5))
    );
    assert_eq!((s.data, s.place.bind), ((Some("h".into()), Some("l".into())), Some("10.0.0.9".into())));
    let s = parse("-6 -i 2 -I 95,3 -r").unwrap().settings;
    assert_eq!((s.repeats.least, s.repeats.most, s.repeats.level, s.repeats.width), (3, 3, 95, 0.03));
    assert_eq!((&*s.host, s.repeats.result_only), ("::1", true));
    assert_eq!(parse("-I 99").unwrap().settings.repeats.most, 10);
    assert!(parse("-t TCP_RR -- -k P50_LATENCY").unwrap().settings.latency);
    assert!(!parse("-t TCP_RR -- -k RT_LATENCY").unwrap().settings.latency);
}

#[test]
fn what_is_wrong_is_named_with_its_mend() {
    for (line, why) in [
        ("-t TCP_CC", "-t TCP_CC: not built here; give one of TCP_STREAM, "),
        ("-l x", "-l x: give seconds"),
        ("-l -0", "-l -0: give a number"),
        ("-c 100", "100: not a flag"),
        ("-P 2", "-P 2: give a number from 0 to 1"),
        ("-v 3", "-v 3: give a number from 0 to 2"),
        ("-f b", "-f b: give one of K, "),
        ("-D 1,100", "-D 1,100: figures come by the clock"),
        ("-D x", "-D x: give a time"),
        ("-F a,b", "-F a,b: a server here reads no file"),
        ("-H x,7", "-H x,7: give a family"),
        ("-p 1,2", "-p 1,2: an own port"),
        ("-I 90", "-I 90: give 95 or 99"),
        ("-I 95,0", "-I 95,0: give a width"),
        ("-a 3", "-a 3: give powers of two"),
        ("-r", "-r: TCP_STREAM has no second run"),
        ("-N", "-N: "),
        ("-b 5", "-b: "),
        ("-d", "-d: "),
        ("-Z x", "-Z: "),
        ("-- -m 1.5K", "-m 1.5K: give a size"),
        ("-- -m 32M", "-m 32M: give 16777216 at most"),
        ("-- -m ,", "-m ,: give a value"),
        ("-- -r 1", "-r: TCP_STREAM has no requests"),
        ("-- -n", "-n: TCP_STREAM has no datagrams"),
        ("-- -M ,5", "-M: TCP_STREAM has no blocks that this end receives"),
        ("-- -b 5", "-b: there is one request at a time"),
        ("-Y 256", "-Y 256: give numbers from 0 to 255"),
        ("-Y ef,af44", "-Y ef,af44: give numbers"),
        ("-y x", "-y x: give a number"),
        ("-t TCP_SENDFILE -- -H x", "-H behind --: TCP_SENDFILE has no word for that"),
        ("--via cable:x{1 --addr 10.0.0.2/24 -H 10.0.0.1 -Y ef", "-Y: a host of our own"),
        ("-- -K aaaaaaaaaaaaaaaaaaaa", "-K aaaaaaaaaaaaaaaaaaaa: give a name"),
        ("-- -k NONE", "NONE: no such value"),
        ("-- -k THROUGHPU", "THROUGHPU: no such value; did you mean THROUGHPUT?"),
        ("-- -o ,", "no value is named"),
        ("-t UDP_STREAM -- -m 65508", "-m 65508: a datagram has 65507"),
        ("-t UDP_RR -- -D", "-D: UDP_RR has no segments"),
        ("-t UDP_STREAM -f x", "-f x: UDP_STREAM has no transactions"),
        ("-t TCP_RR -- -m 5", "-m: TCP_RR has no blocks"),
        ("-t TCP_RR -- -r 0", "-r 0: give 1"),
        ("-t TCP_SENDFILE -S", "-S: TCP_SENDFILE has no word for that"),
        ("-t TCP_RR -- -e 5", "-e: TCP_RR has no responses that may be lost"),
    ] {
        let said = parse(line).unwrap_err();
        assert!(said.starts_with(why) && said.lines().count() == 1, "{line}: {said}");
    }
}

#[test]
fn texts_are_printed_and_not_run() {
    assert!(parse("-h").unwrap_err().contains("Usage: netperf") && parse("-- -h").unwrap_err().contains("TCP_CRR"));
    assert!(parse("-V").unwrap_err().starts_with("Netperf version 2.7.0"));
    let list = parse("-- -k ?").unwrap_err();
    assert!(list.lines().any(|line| line == "P99_LATENCY") && list.lines().count() > 80, "{list}");
}

#[test]
fn a_file_may_name_the_values() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "THROUGHPUT THROUGHPUT_UNITS\nMIN_LATENCY\n").unwrap();
    assert!(parse(&format!("-t TCP_RR -- -o {}", file.path().display())).unwrap().settings.latency);
}

#[test]
fn a_server_has_a_line_of_its_own() {
    let parse = |line: &str| {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        match ServerConfig::parse(&words) {
            Ok(ServerCommand::Run(config)) => Ok(*config),
            Ok(ServerCommand::Print(text)) | Err(text) => Err(text),
        }
    };
    let config = parse("-p 5 -D -f -N -4 -L 127.0.0.1 -v 2").unwrap();
    assert_eq!((config.place.port, config.daemon, config.serially, config.verbose), (5, false, true, true));
    assert_eq!(config.place.bind.as_deref(), Some("127.0.0.1"));
    assert!(parse("").unwrap().daemon && parse("").unwrap().place.port == 12_865);
    for (line, why) in
        [("-p 0", "-p 0: give"), ("-Z x", "-Z: "), ("-L ::1,5", "-L ::1,5: give a family"), ("-d", "-d: ")]
    {
        assert!(parse(line).unwrap_err().starts_with(why), "{line}");
    }
}
