//! Benches of streams over the sockets of linerate's own stack, as `sweep --via stack` has them, beside hosts whose one thread
//! at each end does everything itself.

use super::tcp_stream::{BIG, SKELETON};
use super::udp_flood::{self, BODY};
use super::{Bench, How, Missing, Peer, Setting, failed};
use crate::workloads::WORKLOADS;
use linerate_result::{Parameter, Parameters, Unit};
use linerate_rt::Stop;

pub(super) const TCP: Bench = Bench {
    name: "socket-tcp",
    about: "one TCP connection by sockets of our own stack over a cable, writes of 2 KiB, frames of 1500 bytes (TCP_STREAM)",
    unit: Unit::BytesPerSecond,
    two_cores: true,
    bound: None,
    run: |setting| Ok(goodput(setting, "TCP_STREAM", 2048)? / 8.0),
    peers: &[Peer { name: "hosts of one thread each", how: How::Own(BIG.run), wanted: Some(0.9) }],
};
pub(super) const BOTH: Bench = Bench {
    name: "socket-tcp-bidir",
    about: "TCP both ways at once by sockets of our own stack over a cable, writes of 2 KiB, the sum of both (TCP_BIDIR)",
    unit: Unit::BytesPerSecond,
    two_cores: true,
    bound: None,
    run: |setting| Ok(goodput(setting, "TCP_BIDIR", 2048)? / 8.0),
    peers: &[Peer {
        name: "the same bytes one way, copied, segmented and summed",
        how: How::Own(SKELETON.run),
        wanted: Some(0.4),
    }],
};
pub(super) const UDP: Bench = Bench {
    name: "socket-udp",
    about: "64-byte UDP frames by sockets of our own stack over a cable, those that arrive (UDP_STREAM)",
    unit: Unit::Pps,
    two_cores: true,
    bound: None,
    run: |setting| Ok(goodput(setting, "UDP_STREAM", BODY)? / (8 * BODY) as f64),
    peers: &[Peer { name: "hosts of one thread each", how: How::Own(udp_flood::BENCH.run), wanted: Some(0.9) }],
};

/// Bits per second that a workload of streams gets from one end to the other.
fn goodput(setting: &Setting, workload: &str, size: usize) -> Result<f64, Missing> {
    let row = WORKLOADS.iter().find(|row| row.name == workload).ok_or_else(|| failed("no such workload"))?;
    // Their time is in whole seconds.
    let seconds = setting.time.as_secs().max(1);
    let parameters: Parameters = [
        ("via", Parameter::Text("stack".to_owned())),
        ("io_bytes", Parameter::Count(size as u64)),
        ("seconds", Parameter::Count(seconds)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    let test = row.measure(&parameters, &Stop::new().map_err(failed)?).map_err(failed)?;
    match test.failures.first() {
        Some(why) => Err(failed(why)),
        None => test.repeats.first().and_then(|repeat| repeat.value.known()).ok_or_else(|| failed("no figure")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_socket_bench_moves_bytes() {
        let Some(setting) = Setting::brief() else { return };
        for bench in [TCP, BOTH, UDP] {
            assert!((bench.run)(&setting).unwrap() > 0.0, "{}", bench.name);
        }
    }
}
