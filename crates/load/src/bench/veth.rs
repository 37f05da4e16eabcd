//! Benches of kernel interfaces: a veth pair in a network namespace of its own, linerate at both ends.

use super::{Bench, How, Missing, Peer, Setting, config, quietly, rate_and_frames, sent_and_checked};
use linerate_host::{Namespace, VethPair};
use linerate_result::Unit;

pub(super) const PACKET: Bench = Bench {
    name: "packet-veth",
    about: "64-byte frames over a veth pair by packet:, every byte checked",
    unit: Unit::Pps,
    two_cores: true,
    bound: None,
    run: |setting| over(setting, "packet"),
    peers: &[Peer {
        name: "dpdk-af-packet",
        how: How::Script(&["dpdk-af-packet", "--qdisc-bypass"]),
        wanted: Some(0.97),
    }],
};

pub(super) const PACKET_TX: Bench = Bench {
    name: "packet-tx",
    about: "64-byte frames sent into a veth pair by packet:, nobody receives; counted by the far interface",
    unit: Unit::Pps,
    two_cores: true,
    bound: None,
    run: sent_only,
    peers: &[
        Peer { name: "trafgen", how: How::Script(&["trafgen", "--size", "64"]), wanted: Some(0.97) },
        Peer { name: "tcpreplay", how: How::Script(&["tcpreplay", "--size", "64"]), wanted: Some(0.97) },
    ],
};

pub(super) const XDP: Bench = Bench {
    name: "xdp-veth",
    about: "64-byte frames over a veth pair by xdp:, every byte checked",
    unit: Unit::Pps,
    two_cores: true,
    bound: None,
    run: |setting| over(setting, "xdp"),
    peers: &[Peer { name: "dpdk-af-xdp", how: How::Script(&["dpdk-af-xdp"]), wanted: Some(0.97) }],
};

fn over(setting: &Setting, kind: &str) -> Result<f64, Missing> {
    let skipped = |e: linerate_host::Error| Missing::Skipped(e.to_string());
    let space = Namespace::new().map_err(skipped)?;
    let measured = space.run_in(|| {
        let _pair = VethPair::new(["v0", "v1"], 1, 1500).map_err(skipped)?;
        let mut config = config(setting, &format!("{kind}:v0"));
        config.to = Some(format!("{kind}:v1"));
        config.wait = linerate_rt::WaitMode::Adaptive;
        sent_and_checked(config)
    });
    measured.map_err(skipped)?
}

/// Frames that the far interface counted, over the time of sending; the peers' script counts in the same way.
fn sent_only(setting: &Setting) -> Result<f64, Missing> {
    let skipped = |e: linerate_host::Error| Missing::Skipped(e.to_string());
    let space = Namespace::new().map_err(skipped)?;
    let measured = space.run_in(|| {
        let pair = VethPair::new(["v0", "v1"], 1, 1500).map_err(skipped)?;
        let finished = quietly(config(setting, "packet:v0"))?;
        let (rate, frames) = rate_and_frames(&finished)?;
        let counted = pair.link("v1").map_err(skipped)?.stats.rx_packets;
        Ok(rate * counted as f64 / frames as f64)
    });
    measured.map_err(skipped)?
}
