//! Lists of netperf's omni tests: a line of names and a line of values (`-o`), or a name and a value a line (`-k`).

use linerate_result::{Parameter, Unit};

use super::super::found::{Line, Measured};
use super::super::{Wrong, shown, units};
use super::Test;

/// The greatest number of values of a list.
const MOST: usize = 512;

/// Lines `NAME=VALUE` so far.
pub(super) struct Pairs {
    pub(super) line: usize,
    pub(super) all: Vec<(String, String)>,
}

impl Pairs {
    pub(super) fn new(line: usize) -> Self {
        Self { line, all: Vec::new() }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.all.iter().any(|(known, _)| known == name)
    }

    pub(super) fn add(&mut self, name: &str, value: &str, line: Line<'_>) -> Result<(), Wrong> {
        if self.all.len() >= MOST {
            return Err(line.wrong(&format!("more than {MOST} values of one test")));
        }
        self.all.push((shown(name, 100), shown(value, 200)));
        Ok(())
    }
}

/// `THROUGHPUT=48121.88`.
pub(super) fn pair(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=')?;
    let is_name =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    is_name.then_some((name, value))
}

/// `Throughput,Throughput Units,Elapsed Time (sec)`: names alone, one of them a throughput.
pub(super) fn names(line: &str) -> Option<Vec<String>> {
    let names = values(line);
    // `50th Percentile Latency Microseconds` begins with a digit.
    let is_name =
        |name: &String| name.starts_with(|c: char| c.is_ascii_alphanumeric()) && units::number(name).is_none();
    let listed = names.len() > 1 && names.len() <= MOST && names.iter().all(is_name);
    (listed && names.iter().any(|name| is_throughput(name))).then_some(names)
}

/// True for `Throughput` and `Local Send Throughput`, not for the end of a command.
fn is_throughput(name: &str) -> bool {
    let (ours, name) = ("throughput", name.to_ascii_lowercase());
    name == ours || name.ends_with(&format!(" {ours}")) && !name.contains('-')
}

/// The values of a line; one in quotes may have commas.
pub(super) fn values(line: &str) -> Vec<String> {
    let (mut all, mut now, mut quoted) = (Vec::new(), String::new(), false);
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => all.push(std::mem::take(&mut now)),
            c => now.push(c),
        }
    }
    all.push(now);
    all.iter().map(|value| shown(value.trim(), 200)).collect()
}

/// Parts of the names of settings, which repeats have in common.
const SETTINGS: &str = "host recv_size protocol direction socket_type command_line congestion mss nodelay cork \
    burst tos priority fill align offset width interval_usecs mtu quantum cpu_bind security dont";

/// Values that the classic tables have too, by their names there. Names in words end in what the short ones leave out.
const SIZES: &[(&str, &str)] = &[
    ("local_send_size", "message_bytes"),
    ("remote_send_size", "message_bytes"),
    ("request_size", "request_bytes"),
    ("response_size", "response_bytes"),
    ("lss_size", "send_buffer_bytes"),
    ("local_send_socket_size_initial", "send_buffer_bytes"),
];

/// The receive buffer of a classic table: of a stream the other end's, of requests this end's.
const RECEIVE: [[&str; 2]; 2] =
    [["rsr_size", "remote_recv_socket_size_initial"], ["lsr_size", "local_recv_socket_size_initial"]];

/// Buffers of the other end, which tables of requests have.
const REMOTE: &[(&str, &str)] = &[
    ("rss_size", "remote_send_buffer_bytes"),
    ("remote_send_socket_size_initial", "remote_send_buffer_bytes"),
    ("rsr_size", "remote_receive_buffer_bytes"),
    ("remote_recv_socket_size_initial", "remote_receive_buffer_bytes"),
];

/// Beginnings of the long names of latencies, and of the short ones.
const LATENCIES: &[(&str, &str)] = &[
    ("minimum_", "min_"),
    ("maximum_", "max_"),
    ("50th_percentile_", "p50_"),
    ("90th_percentile_", "p90_"),
    ("99th_percentile_", "p99_"),
    ("round_trip_latency_usec/tran", "rt_latency"),
];

/// Figures of processors, by their names in the classic tables.
const PROCESSORS: &[(&str, &str)] = &[
    ("local_cpu_util", "cpu_local"),
    ("local_cpu_utilization", "cpu_local"),
    ("remote_cpu_util", "cpu_remote"),
    ("remote_cpu_utilization", "cpu_remote"),
    ("local_sd", "service_demand_local"),
    ("local_service_demand", "service_demand_local"),
    ("remote_sd", "service_demand_remote"),
    ("remote_service_demand", "service_demand_remote"),
];

/// Parts of the names of counters.
const COUNTERS: &[&str] = &["retrans", "_calls"];

/// Values that are read by their names, and units of others.
const READ: &[&str] = &["throughput", "throughput_units", "sd_units", "service_demand_units"];

/// Begin of the warning of values that are not read.
pub(in super::super) const UNREAD: &str = "of the list is not read: ";

/// The finding of a list: throughput and times as figures, sizes as parameters, other settings as conditions.
pub(super) fn measured(test: &mut Test, pairs: Vec<(String, String)>, line: Line<'_>) -> Result<Measured, Wrong> {
    let wrong = |why: String| Wrong { line: Some(line.number), why };
    let named = |wanted: &str| {
        let same = |name: &str| name.replace(' ', "_").eq_ignore_ascii_case(wanted);
        pairs.iter().find(|(name, _)| same(name)).map(|(_, value)| value.as_str())
    };
    let mut measured = test.measured(line.number);
    let Some(value) = named("throughput") else {
        return Err(wrong("a list without THROUGHPUT; ask for THROUGHPUT and THROUGHPUT_UNITS".to_owned()));
    };
    let Some(unit) = named("throughput_units") else {
        return Err(wrong("a throughput without its unit; ask for THROUGHPUT_UNITS too".to_owned()));
    };
    let rate = |value: &str| units::number(value).and_then(|value| units::rate(value, unit));
    let throughput = rate(value).ok_or_else(|| wrong(format!("a throughput that is not known: '{value} {unit}'")))?;
    let of_datagrams = measured.workload.contains("udp") && !measured.workload.ends_with("_rr");
    measured.value = Some(throughput);
    if of_datagrams {
        let sent = named("local_send_throughput").and_then(rate);
        match named("remote_recv_throughput").and_then(rate).filter(|(rate, _)| *rate >= 0.0) {
            Some(arrived) => {
                measured.value = sent;
                measured.arrived(Some(arrived));
            }
            None => {
                measured.further.extend(sent.map(|sent| ("sent".to_owned(), sent)));
                undirected(&mut measured);
            }
        }
    }
    let requests = measured.workload.ends_with("rr") || unit.starts_with("Trans");
    let demand = named("sd_units").or_else(|| named("service_demand_units")).unwrap_or("us/KB");
    let demand = match demand.replace("usec", "us").as_str() {
        "us/Tran" => Unit::Other("us/Tr".into()),
        known => Unit::Other(known.into()),
    };
    let is_classic = ["tcp_", "udp_", "sctp_"].iter().any(|of| measured.workload.starts_with(&format!("netperf-{of}")));
    let mut unread = Vec::new();
    for (name, value) in &pairs {
        let key = name.to_ascii_lowercase().replace(' ', "_");
        // -1 stands for what was not measured, or does not apply.
        let number = units::number(value).filter(|number| *number >= 0.0);
        let is_setting = SETTINGS.split(' ').any(|setting| key.contains(setting)) && !key.contains("confid");
        if is_setting {
            match key.as_str() {
                "command_line" => measured.told.line(Line { text: value, ..line }),
                // Of a test whose name does not tell it.
                "protocol" | "direction" if !is_classic => {
                    measured.parameters.insert(key.clone(), shown(value, 40).into());
                }
                _ => measured.told.set(&key, value),
            }
        }
        let short = key.trim_end_matches("_bytes").trim_end_matches("_microseconds");
        let size = SIZES.iter().find(|(known, _)| *known == short).map(|(_, ours)| *ours);
        let size = size.or_else(|| RECEIVE[usize::from(requests)].contains(&short).then_some("receive_buffer_bytes"));
        let size = size.or_else(|| REMOTE.iter().find(|(known, _)| requests && *known == short).map(|(_, ours)| *ours));
        let of_datagram = of_datagrams && key.ends_with("_throughput");
        let known =
            size.is_some() || is_setting || of_datagram || key.contains("confid") || READ.contains(&key.as_str());
        match (number, size, PROCESSORS.iter().find(|(known, _)| *known == short)) {
            (None, ..) if known || value.is_empty() || units::number(value).is_some() => {}
            (Some(size), Some(ours), _) if size > 0.0 => {
                let message = ours == "message_bytes" && requests;
                if !message && !measured.parameters.contains_key(ours) {
                    measured.parameters.insert(ours.to_owned(), super::classic::whole(size));
                }
            }
            (Some(figure), _, Some((_, ours))) => {
                let unit = if ours.starts_with("cpu") { Unit::PerCent } else { demand.clone() };
                measured.further.push(((*ours).to_owned(), (figure, unit)));
            }
            (Some(seconds), ..) if short.starts_with("elapsed_time") => measured.seconds = Some(seconds),
            // Latencies are microseconds, which only the long names say.
            // Nought is less than the last digit.
            (Some(0.0), ..) if short.contains("latency") => {}
            (Some(us), ..) if short.contains("latency") => {
                let long =
                    LATENCIES.iter().find_map(|(long, ours)| Some(format!("{ours}{}", short.strip_prefix(long)?)));
                measured.further.push((long.unwrap_or_else(|| short.to_owned()), (us * 1e3, Unit::Ns)));
            }
            (Some(number), ..) if COUNTERS.iter().any(|part| key.contains(part)) && units::count(number).is_some() => {
                measured.counters.extend(units::count(number).map(|count| (key, count)));
            }
            // Of further figures the list does not tell the units in a form to rely on.
            _ if !known => unread.push(name.as_str()),
            _ => {}
        }
    }
    if !unread.is_empty() {
        let first = unread[..unread.len().min(6)].join(", ");
        let more = if unread.len() > 6 { format!(" and {} more", unread.len() - 6) } else { String::new() };
        measured.warnings.push(format!("{UNREAD}{first}{more}"));
    }
    measured.told = measured.told.lasting(measured.seconds);
    if measured.parameters.is_empty() {
        measured.parameters.insert("list".to_owned(), Parameter::from("omni"));
    }
    Ok(measured)
}

/// Says that a throughput of datagrams may be what was sent. Its intervals are what this end saw.
pub(super) fn undirected(measured: &mut Measured) {
    measured.samples.clear();
    measured.parameters.insert("figure".to_owned(), "not told whether sent or received".into());
    let told = "of datagrams the list does not tell what arrived: the figure may be what was sent; ask for REMOTE_RECV_THROUGHPUT";
    measured.warnings.push(told.to_owned());
}
