//! Checks of the configuration against the ports that were opened.

use super::config::Config;
use super::run::Refusal;
use super::source::Cut;
use crate::frame::Layout;
use linerate_port::Port;
use linerate_ring::TxRing;
use linerate_ring::layout::MAX_FRAGS;

/// Checks sizes, queues and slots.
pub(super) fn check(config: &Config, ports: &[Port]) -> Result<(), Refusal> {
    let info = ports[0].info();
    let queues = config.mode.queues(info);
    let refuse = |text: String| Err(Refusal::Usage(text));
    if config.threads > queues {
        return refuse(format!(
            "-p {}: {} has {queues} queues; give -p {queues} or less, or open it with more (queues=)",
            config.threads, info.name
        ));
    }
    if !config.mode.sends() {
        return Ok(());
    }
    let layout = Layout { vnet: 0, v6: config.v6 };
    let shortest = config.sizes.shortest();
    let room = |what: &str, needed: usize| {
        if shortest >= needed { Ok(()) } else { refuse(format!("{what}; give -l {needed} or more")) }
    };
    match config.mode.name {
        "ping" => room(&format!("-f ping: frames of {shortest} bytes have no room for the mark"), layout.end())?,
        "txseq" => {
            room(&format!("-f txseq: frames of {shortest} bytes have no room for the number"), layout.mark() + 4)?
        }
        _ if config.stamps() => {
            room(&format!("--latency: frames of {shortest} bytes have no room for a time-stamp"), layout.stamp_end())?;
        }
        _ => {}
    }
    for port in ports {
        let (longest, most) = (config.sizes.longest() + config.vnet, port.info().largest);
        if longest > most {
            return refuse(format!(
                "-l {longest}: {} carries frames of up to {most} bytes; give less, or open it with a larger mtu=",
                port.info().name
            ));
        }
    }
    Ok(())
}

/// Checks the division of frames into slots of a ring, and returns it.
pub(super) fn cut(config: &Config, ring: &TxRing) -> Result<Cut, Refusal> {
    let (usable, longest) = (ring.usable(), config.sizes.longest() + config.vnet);
    let cut = Cut { slots: config.frags, most: config.frag_size.unwrap_or(usable).min(usable) };
    let (_, slots) = cut.of(longest);
    let most = MAX_FRAGS.min(ring.slots() as usize - 1);
    if slots > most {
        return Err(Refusal::Usage(format!(
            "-l {longest}: such a frame takes {slots} slots of {} bytes, {most} are the most; give a larger -M, or buf=",
            cut.most
        )));
    }
    Ok(cut)
}

/// Number of processors that the threads may use.
pub(super) fn cpus_used(config: &Config) -> usize {
    let all = linerate_rt::cpus().len();
    config.cpus.filter(|n| *n > 0).unwrap_or(if config.cpus == Some(0) { all } else { config.threads.min(all) })
}

/// Processors that each thread may run on; empty for any.
pub(super) fn places(config: &Config) -> Result<Vec<Vec<usize>>, Refusal> {
    let all = linerate_rt::cpus();
    let refuse = |text: String| Err(Refusal::Usage(text));
    if let Some(n) = config.cpus.filter(|n| *n > all.len()) {
        return refuse(format!("-c {n}: there are {} processors to use; give -c {} or less", all.len(), all.len()));
    }
    let some = match config.cpus {
        Some(n) if n > 0 => &all[..n],
        _ => &all[..],
    };
    let threads = config.threads + usize::from(config.to.is_some());
    let Some(first) = config.affinity else {
        let restricted = config.cpus.is_some_and(|n| n > 0);
        return Ok(vec![if restricted { some.to_vec() } else { Vec::new() }; threads]);
    };
    let Some(at) = some.iter().position(|cpu| *cpu == first) else {
        let list: Vec<_> = some.iter().map(ToString::to_string).collect();
        return refuse(format!("-a {first}: no processor that may be used; there are {}", list.join(", ")));
    };
    Ok((0..threads).map(|k| vec![some[(at + k) % some.len()]]).collect())
}
