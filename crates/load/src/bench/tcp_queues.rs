//! Bench of eight TCP connections over two queues, a core for each end of each queue.

use super::tcp_pair::{HOSTS, MACS, PATIENCE};
use super::{Bench, How, Missing, Peer, Setting, failed};
use linerate_result::Unit;
use linerate_rt::net::{Node, Options};
use linerate_rt::{Clock, cpus, spawn};
use linerate_stack::Cidr;
use linerate_stack::tcp::{State, TcpId, TcpListenerId};
use linerate_text::saturating_ns;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

pub(super) const QUEUES: Bench = Bench {
    name: "tcp-queues",
    about: "eight TCP connections over a cable of two queues, writes of 2 KiB, frames of 1500 bytes with checksums; four cores",
    unit: Unit::BytesPerSecond,
    two_cores: false,
    bound: None,
    run: |setting| fast(setting, 2),
    peers: &[Peer {
        name: "four connections over one queue",
        how: How::Own(|setting| fast(setting, 1)),
        wanted: Some(1.6),
    }],
};

/// Connections of a queue.
const CONNECTIONS: usize = 4;
/// Bytes of a write, and of a turn of a connection's sender.
const WRITE: usize = 2048;
const TURN: usize = 32 << 10;
/// Bytes after which what is sent begins anew: a prime, so that no other place looks the same.
const PERIOD: usize = 65_521;
const PORT: u16 = 5001;

/// Bytes per second, where each end of each queue has a core of its own.
fn fast(setting: &Setting, queues: usize) -> Result<f64, Missing> {
    let cores = cpus();
    if cores.len() < 4 {
        return Err(Missing::Skipped(format!("it needs four cores, and {} are there", cores.len())));
    }
    run(saturating_ns(setting.time), queues, &cores)
}

/// Bytes per second from end to end over so many queues, each with its connections.
fn run(time: u64, queues: usize, cores: &[usize]) -> Result<f64, Missing> {
    let cidr = |at: usize| Cidr::new(HOSTS[at].into(), 24).ok_or_else(|| failed("no address"));
    let ports = ["{1", "}1"].map(|end| format!("cable:tcp-queues{end},slots=1024,queues={queues}"));
    let addresses: [&[Cidr]; 2] = [&[cidr(0)?], &[cidr(1)?]];
    let hosts = Node::open_all_shards(&[&ports[0], &ports[1]], &addresses, &Options::default()).map_err(failed)?;
    let [mut near, mut far] = <[_; 2]>::try_from(hosts).map_err(|_| failed("there are two ends"))?;
    for (at, host) in [&mut near, &mut far].into_iter().enumerate() {
        let first = host.first_mut().ok_or_else(|| failed("no queue"))?;
        first.set_mac(MACS[at]).map_err(failed)?;
        first.ip.host.neighbours().insert_permanent(HOSTS[1 - at].into(), MACS[1 - at]).map_err(failed)?;
    }
    // Senders that are done; receivers go on until all are.
    let done = Arc::new(AtomicUsize::new(0));
    let mut threads = Vec::new();
    for (queue, (near, mut far)) in near.into_iter().zip(far).enumerate() {
        let core = |end: usize| cores[(2 * queue + end) % cores.len()];
        let listener = far.ip.host.tcp_listen((HOSTS[1], PORT).into(), 64).map_err(failed)?;
        let (first, second) = (done.clone(), done.clone());
        let sends = move || {
            let sent = send(near, time);
            first.fetch_add(1, Relaxed);
            sent
        };
        threads.push(spawn("tcp-tx", &[core(0)], sends).map_err(failed)?);
        threads.push(spawn("tcp-rx", &[core(1)], move || receive(far, listener, &second, queues)).map_err(failed)?);
    }
    let mut sums = [0, 0];
    for (at, thread) in threads.into_iter().enumerate() {
        sums[at % 2] += thread.join().map_err(|_| failed("a thread panicked"))??;
    }
    let [sent, received] = sums;
    if received == 0 || received != sent {
        return Err(failed(format!("{sent} bytes were written, {received} read")));
    }
    Ok(received as f64 * 1e9 / time as f64)
}

fn byte(at: u64) -> u8 {
    u8::try_from((at % PERIOD as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56).unwrap_or(0)
}

/// Writes to each of its connections in turn, and closes them; the bytes.
fn send(mut node: Node, time: u64) -> Result<u64, Missing> {
    let mut clock = Clock::new();
    let to = (HOSTS[1], PORT).into();
    let ids = (0..CONNECTIONS).map(|_| node.ip.host.tcp_connect(clock.now(), None, to).map_err(failed));
    let ids = ids.collect::<Result<Vec<TcpId>, _>>()?;
    let data: Vec<u8> = (0..(PERIOD + WRITE) as u64).map(byte).collect();
    let mut written = vec![0_u64; ids.len()];
    let start = clock.now();
    let (mut now, mut last) = (start, start);
    while now < start + time {
        for (id, written) in ids.iter().zip(&mut written) {
            for _ in 0..TURN / WRITE {
                let at = usize::try_from(*written % PERIOD as u64).unwrap_or(0);
                let n = node.ip.host.tcp_write(*id, &data[at..at + WRITE]).unwrap_or(0);
                *written += n as u64;
                if n < WRITE {
                    break;
                }
                last = now;
            }
        }
        turn(&mut node, now);
        now = clock.now();
        if now > last + PATIENCE {
            return Err(failed("nothing can be written"));
        }
    }
    for id in &ids {
        node.ip.host.tcp_close(*id);
    }
    // What was written arrives, or there is no end.
    let until = now + PATIENCE;
    while ids.iter().any(|id| !is_over(&node, *id)) {
        now = clock.now();
        turn(&mut node, now);
        if now > until {
            return Err(failed("connections do not end"));
        }
    }
    Ok(written.iter().sum())
}

/// True if all that was written, and FIN, is acknowledged.
fn is_over(node: &Node, id: TcpId) -> bool {
    let state = node.ip.host.tcp_state(id).map_or(State::Closed, |(state, _)| state);
    matches!(state, State::FinWait2 | State::TimeWait | State::Closed)
}

/// A turn of a queue; where there is nothing to do another thread may have the core.
fn turn(node: &mut Node, now: u64) {
    if !node.handle(now) {
        std::thread::yield_now();
    }
}

/// Reads from all connections that come until they end, and all senders are done; the bytes.
fn receive(mut node: Node, listener: TcpListenerId, done: &AtomicUsize, senders: usize) -> Result<u64, Missing> {
    let (mut clock, mut buffer, mut ids) = (Clock::new(), vec![0; 64 << 10], Vec::new());
    let data: Vec<u8> = (0..(PERIOD + buffer.len()) as u64).map(byte).collect();
    let mut total = 0;
    loop {
        let over = done.load(Relaxed) == senders;
        turn(&mut node, clock.now());
        while let Some((id, _)) = node.ip.host.tcp_accept(listener) {
            ids.push((id, 0_u64));
        }
        let mut open = false;
        for (id, read) in &mut ids {
            loop {
                let n = node.ip.host.tcp_read(*id, &mut buffer).unwrap_or(0);
                if n == 0 {
                    break;
                }
                let at = usize::try_from(*read % PERIOD as u64).unwrap_or(0);
                // All of a piece: those of a queue must not be mixed up.
                if buffer[..n] != data[at..at + n] {
                    return Err(failed(format!("a byte behind byte {read} is wrong")));
                }
                *read += n as u64;
                total += n as u64;
            }
            open |= node.ip.host.tcp_connection(*id).is_some_and(|connection| !connection.is_at_end());
        }
        if over && !open {
            return Ok(total);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Right on any number of cores.
    #[test]
    fn bytes_of_all_queues_arrive() {
        for queues in [1, 2] {
            assert!(run(50_000_000, queues, &cpus()).unwrap() > 0.0, "{queues}");
        }
    }
}
