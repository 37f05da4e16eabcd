//! Benches of TCP with both ends on one core, which take turns: a stream without TSO, alone and beside connections that are
//! idle; buffers without copies; and connections that are made and closed.

use super::alone::on_core;
use super::tcp_pair::{PATIENCE, connect, hosts, listen};
use super::{Bench, How, Missing, Peer, Setting, failed};
use bytes::{Buf, Bytes};
use linerate_result::Unit;
use linerate_rt::Clock;
use linerate_rt::net::Node;
use linerate_text::saturating_ns;

pub(super) const STREAM: Bench = Bench {
    name: "tcp-one-core",
    about: "one TCP connection over a cable, both ends on one core, writes of 2 KiB, frames of 1500 bytes with checksums, no TSO",
    unit: Unit::BytesPerSecond,
    two_cores: false,
    bound: None,
    run: |setting| stream(setting, 0),
    peers: &[
        Peer {
            name: "smoltcp",
            how: How::Script(&["smoltcp-mem", "--threads", "1", "--write", "2048"]),
            wanted: Some(1.0),
        },
        Peer {
            name: "the kernel on a veth pair",
            how: How::Script(&["iperf3", "--place", "one", "--tso", "off", "-l", "2K"]),
            wanted: Some(6.0),
        },
    ],
};

pub(super) const IDLE: Bench = Bench {
    name: "tcp-idle",
    about: "the same beside 100,000 connections that are idle",
    unit: Unit::BytesPerSecond,
    two_cores: false,
    bound: None,
    run: |setting| stream(setting, 100_000),
    peers: &[
        Peer { name: "beside none", how: How::Own(|setting| stream(setting, 0)), wanted: Some(0.9) },
        Peer { name: "beside 1000", how: How::Own(|setting| stream(setting, 1000)), wanted: None },
    ],
};

pub(super) const IDLE_1000: Bench = Bench {
    name: "tcp-idle-1000",
    about: "the same beside 1000 connections that are idle",
    unit: Unit::BytesPerSecond,
    two_cores: false,
    bound: None,
    run: |setting| stream(setting, 1000),
    peers: &[Peer { name: "beside none", how: How::Own(|setting| stream(setting, 0)), wanted: Some(0.95) }],
};

pub(super) const CHUNKS: Bench = Bench {
    name: "tcp-chunks",
    about: "one TCP connection over a cable, both ends on one core, buffers of 128 KiB that are handed over and read where they lie, TSO",
    unit: Unit::BytesPerSecond,
    two_cores: false,
    bound: None,
    run: |setting| chunks(setting, true),
    peers: &[Peer {
        name: "written and read with copies",
        how: How::Own(|setting| chunks(setting, false)),
        wanted: Some(1.0),
    }],
};

pub(super) const CONNECT: Bench = Bench {
    name: "tcp-connect",
    about: "a TCP connection made over a cable, closed by both ends, and gone, one behind the other; both ends on one core",
    unit: Unit::Ns,
    two_cores: false,
    bound: Some(10_000.0),
    run: connections,
    peers: &[],
};

/// Bytes of a write, and of a turn of the sender.
const WRITE: usize = 2048;
const TURN: usize = 64 << 10;
/// Bytes of a buffer.
const CHUNK: usize = 128 << 10;
/// Connections that are made at once.
const BATCH: usize = 512;
/// Connections to one port: fewer than there are ports to connect from.
const MOST: usize = 16_000;

/// Bytes per second from end to end, beside so many connections that do nothing.
fn stream(setting: &Setting, idle: usize) -> Result<f64, Missing> {
    let time = saturating_ns(setting.time);
    on_core(setting.cores[0], move || {
        let mut hosts = hosts("tcp-one-core", 256)?;
        for host in &hosts {
            host.line().control().set_flag(0, "-tso4").map_err(failed)?;
        }
        let mut left = idle;
        for port in 6000.. {
            let listener = listen(&mut hosts, port)?;
            let mut here = left.min(MOST);
            left -= here;
            while here > 0 {
                connect(&mut hosts, listener, here.min(BATCH))?;
                here -= here.min(BATCH);
            }
            if left == 0 {
                break;
            }
        }
        let listener = listen(&mut hosts, 5001)?;
        let (ours, theirs) = connect(&mut hosts, listener, 1)?[0];
        let data: Vec<u8> = (0..TURN).map(|i| u8::try_from(i % 251).unwrap_or(0)).collect();
        let (mut clock, mut buffer, mut total) = (Clock::new(), vec![0; TURN], 0_u64);
        let start = clock.now();
        let (mut now, mut last, mut next) = (start, start, 0_usize);
        while now < start + time {
            let [near, far] = &mut hosts;
            let mut written = 0;
            while written < TURN {
                let n = near.ip.host.tcp_write(ours, &data[next..(next + WRITE).min(TURN)]).unwrap_or(0);
                if n == 0 {
                    break;
                }
                next = (next + n) % TURN;
                written += n;
            }
            near.handle(now);
            far.handle(now);
            loop {
                let n = far.ip.host.tcp_read(theirs, &mut buffer).unwrap_or(0);
                if n == 0 {
                    break;
                }
                let at = usize::try_from(total % TURN as u64).unwrap_or(0);
                if buffer[0] != data[at] || buffer[n - 1] != data[(at + n - 1) % TURN] {
                    return Err(failed(format!("a byte near {total} is wrong")));
                }
                total += n as u64;
                last = now;
            }
            far.handle(now);
            now = clock.now();
            if now > last + PATIENCE {
                return Err(failed("no bytes come"));
            }
        }
        if hosts[0].ip.host.tcp_connections() != idle + 1 {
            return Err(failed("idle connections have gone"));
        }
        Ok(total as f64 * 1e9 / (now - start) as f64)
    })
}

/// Bytes per second in buffers of 128 KiB, with or without copies at both ends.
fn chunks(setting: &Setting, in_place: bool) -> Result<f64, Missing> {
    let time = saturating_ns(setting.time);
    on_core(setting.cores[0], move || {
        let mut hosts = hosts("tcp-chunks", 1024)?;
        let listener = listen(&mut hosts, 5001)?;
        let (ours, theirs) = connect(&mut hosts, listener, 1)?[0];
        let data: Bytes = (0..CHUNK).map(|i| u8::try_from(i % 251).unwrap_or(0)).collect::<Vec<_>>().into();
        let (mut clock, mut buffer, mut total) = (Clock::new(), vec![0; CHUNK], 0_u64);
        let start = clock.now();
        let (mut now, mut last, mut left) = (start, start, data.clone());
        while now < start + time {
            let [near, far] = &mut hosts;
            if left.is_empty() {
                left = data.clone();
            }
            let host = &mut near.ip.host;
            if in_place {
                host.tcp_write_chunk(ours, &mut left);
            } else {
                let n = host.tcp_write(ours, &left).unwrap_or(0);
                left.advance(n);
            }
            near.handle(now);
            far.handle(now);
            loop {
                let at = usize::try_from(total % CHUNK as u64).unwrap_or(0);
                // Each byte is looked at, as whoever reads would.
                let (host, rest, mut right) = (&mut far.ip.host, &data[at..], true);
                let n = if in_place {
                    host.tcp_read_with(theirs, |[first, _]| {
                        let n = first.len().min(rest.len());
                        right = first[..n] == rest[..n];
                        n
                    })
                } else {
                    let n = host.tcp_read(theirs, &mut buffer[..rest.len()]);
                    n.inspect(|n| right = buffer[..*n] == rest[..*n])
                };
                let Some(n @ 1..) = n else { break };
                if !right {
                    return Err(failed(format!("a byte near {total} is wrong")));
                }
                total += n as u64;
                last = now;
            }
            far.handle(now);
            now = clock.now();
            if now > last + PATIENCE {
                return Err(failed("no bytes come"));
            }
        }
        Ok(total as f64 * 1e9 / (now - start) as f64)
    })
}

/// Nanoseconds for a connection.
fn connections(setting: &Setting) -> Result<f64, Missing> {
    let time = saturating_ns(setting.time);
    on_core(setting.cores[0], move || {
        let mut hosts = hosts("tcp-connect", 1024)?;
        for host in &mut hosts {
            // Who closes first keeps its end that long: a minute would hold millions.
            host.ip.host.tcp_config().linger = 1_000_000;
        }
        let listener = listen(&mut hosts, 5001)?;
        let mut clock = Clock::new();
        let start = clock.now();
        let (mut now, mut count) = (start, 0_u64);
        while now < start + time {
            for (ours, theirs) in connect(&mut hosts, listener, BATCH)? {
                hosts[0].ip.host.tcp_release(ours);
                hosts[1].ip.host.tcp_release(theirs);
                count += 1;
            }
            gone(&mut hosts, &mut clock)?;
            now = clock.now();
        }
        Ok((now - start) as f64 / count.max(1) as f64)
    })
}

/// Waits until no host has a connection any more.
fn gone(hosts: &mut [Node; 2], clock: &mut Clock) -> Result<(), Missing> {
    let until = clock.now() + PATIENCE;
    loop {
        let now = clock.now();
        let left: usize = hosts
            .iter_mut()
            .map(|host| {
                host.handle(now);
                host.ip.host.tcp_connections()
            })
            .sum();
        if left == 0 {
            return Ok(());
        }
        if now > until {
            return Err(failed(format!("{left} connections do not end")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn setting() -> Setting {
        let cores = [linerate_rt::cpus()[0]; 2];
        Setting { cores, time: Duration::from_millis(30), rounds: 1, peers: None }
    }

    #[test]
    fn bytes_arrive_beside_idle_connections() {
        assert!(stream(&setting(), 0).unwrap() > 0.0 && stream(&setting(), 600).unwrap() > 0.0);
    }

    #[test]
    fn bytes_arrive_with_copies_and_without() {
        assert!(chunks(&setting(), true).unwrap() > 0.0 && chunks(&setting(), false).unwrap() > 0.0);
    }

    #[test]
    fn connections_come_and_go() {
        assert!(connections(&setting()).unwrap() > 0.0);
    }
}
