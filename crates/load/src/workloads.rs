//! Table of the workloads that a plan can name.
//!
//! A workload is one row and one function: parameters in, a test out. The parameters of pkt-gen and xdd are their
//! flags, so that a point of a plan reads like a command line.

use crate::workload::Workload;
use crate::{fcoe, netperf, pktgen, rfc2544, stream, xdd};

pub const WORKLOADS: &[Workload] = &[
    pktgen::WORKLOAD,
    pktgen::PAIR,
    rfc2544::THROUGHPUT,
    rfc2544::LOSS,
    rfc2544::BACK_TO_BACK,
    xdd::WORKLOAD,
    fcoe::WORKLOAD,
    stream::TCP_STREAM,
    stream::TCP_MAERTS,
    stream::TCP_BIDIR,
    stream::TCP_SENDFILE,
    stream::UDP_STREAM,
    netperf::TCP_RR,
    netperf::TCP_CRR,
    netperf::UDP_RR,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::command_line;
    use linerate_result::{Parameter, Parameters, parameters};
    use linerate_rt::Stop;

    fn asked(list: &[(&str, &str)]) -> Parameters {
        parameters(list.iter().map(|(name, value)| (*name, Parameter::from(*value))))
    }

    /// One measurement of each workload, which reports the figures of its row.
    #[test]
    fn each_workload_reports_what_its_row_says() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(1 << 20).unwrap();
        let path = file.path().to_str().unwrap();
        let few = |workload: &Workload| match workload.name {
            "pkt-gen-pair" => parameters([
                ("-i", "cable:w1{1".into()),
                ("--to", "cable:w1}1".into()),
                ("second", "cable:w2{1".into()),
                ("second-to", "cable:w2}1".into()),
                ("-f", "tx".into()),
                ("-n", 5000_u32.into()),
            ]),
            "pkt-gen" => parameters([
                ("-i", "cable:w{1".into()),
                ("--to", "cable:w}1".into()),
                ("-f", "tx".into()),
                ("-n", 5000_u32.into()),
                ("-R", 1_000_000_u32.into()),
                ("-4", true.into()),
                ("-6", false.into()),
            ]),
            name if name.starts_with("rfc2544") => parameters([
                ("-i", "cable:w3{1,rate=1G".into()),
                ("--to", "cable:w3}1,rate=1G".into()),
                ("frame_bytes", 1518_u32.into()),
                ("trial_seconds", 1_u32.into()),
                ("settle", 0_u32.into()),
                ("resolution_ppm", 100_000_u32.into()),
                ("load", 50_u32.into()),
            ])
            .into_iter()
            .filter(|(asked, _)| asked != "load" || name.ends_with("loss"))
            .collect(),
            "xdd" => parameters([("-target", path.into()), ("-numreqs", 20_u32.into()), ("-reqsize", 4_u32.into())]),
            "fcoe" => parameters([("io_bytes", 4096_u32.into()), ("op", "read".into()), ("time_ms", 50_u32.into())]),
            name if name.ends_with("RR") => parameters([("via", "stack".into())]),
            name if name.starts_with("TCP_") || name == "UDP_STREAM" => {
                parameters([("io_bytes", 1000_u32.into()), ("via", "stack".into())])
            }
            name => panic!("ask something of {name}"),
        };
        let stop = Stop::new().unwrap();
        for workload in WORKLOADS {
            if let Err(why) = (workload.needs)() {
                linerate_skip::skip!("{}: {why}", workload.name);
                continue;
            }
            let test = match workload.measure(&few(workload), &stop) {
                // Each trial's last frame was late.
                Err(why) if why.ends_with("passes without loss") => {
                    linerate_skip::skip!("{}: a busy machine: {why}", workload.name);
                    continue;
                }
                measured => measured.unwrap_or_else(|why| panic!("{}: {why}", workload.name)),
            };
            assert_eq!(test.failures, [""; 0], "{}", workload.name);
            let value = test.value.unwrap();
            assert_eq!(value.unit, workload.reports[0].1, "{}", workload.name);
            // The link of the loss test loses none.
            let least = if workload.name.ends_with("loss") { -1.0 } else { 0.0 };
            assert!(value.median.known() > Some(least), "{}: {value:?}", workload.name);
            for (name, summary) in &test.further {
                let row = workload.reports.iter().find(|(reported, _)| reported == name);
                assert_eq!(row.map(|row| &row.1), Some(&summary.unit), "{}: {name}", workload.name);
            }
        }
    }

    #[test]
    fn what_a_workload_has_not_is_named() {
        let stop = Stop::new().unwrap();
        for workload in WORKLOADS {
            let error = workload.measure(&asked(&[("colour", "red")]), &stop).unwrap_err();
            assert!(error.starts_with(&format!("{} has no parameter 'colour'; it has ", workload.name)), "{error}");
        }
        for (workload, list, told) in [
            (pktgen::WORKLOAD, &[("-f", "tx")][..], "-i"),
            (pktgen::WORKLOAD, &[("-i", "null:"), ("-l", "x")], "-l"),
            (xdd::WORKLOAD, &[("-target", "/nonexistent/x")], "/nonexistent/x"),
            (fcoe::WORKLOAD, &[("op", "read")], "io_bytes"),
            (fcoe::WORKLOAD, &[("io_bytes", "many"), ("op", "read")], "io_bytes: give a number"),
            (fcoe::WORKLOAD, &[("op", "erase")], "op: give one of read, write, readwrite"),
        ] {
            let error = workload.measure(&asked(list), &stop).unwrap_err();
            assert!(error.contains(told) && !error.contains('\n'), "{told}: {error}");
        }
        let fraction = parameters([("io_bytes", 64_u32.into()), ("seconds", 0.3.into())]);
        let error = stream::TCP_STREAM.measure(&fraction, &stop).unwrap_err();
        assert_eq!(error, "seconds: give a whole number from 1 to 86400");
    }

    #[test]
    fn half_a_measurement_is_none() {
        let stop = Stop::new().unwrap();
        stop.ask(2);
        let asked = asked(&[("-i", "null:"), ("-f", "tx")]);
        assert_eq!(WORKLOADS[0].measure(&asked, &stop), Err("stopped".to_owned()));
    }

    #[test]
    fn parameters_are_a_command_line() {
        let all =
            parameters([("-b", 64_u32.into()), ("-f", "tx".into()), ("--imix", true.into()), ("-X", false.into())]);
        assert_eq!(command_line(&all), ["--imix", "-b", "64", "-f", "tx"]);
    }
}
