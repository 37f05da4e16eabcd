//! A flood of UDP datagrams through the kernel's sockets, at full speed or paced: FreeBSD's `netsend`.

use super::sys::udp::{self, Batch, Errno, To};
use crate::pktgen::Pace;
use linerate_result::{Ledger, Repeat, Test, Unit, parameters};
use linerate_rt::{Clock, Stop, ThreadTime};
use linerate_text::saturating_ns;
use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

#[derive(Clone, Debug)]
pub struct Flood {
    pub to: SocketAddr,
    /// Payload of a datagram, bytes; at most [`Flood::LARGEST`].
    pub payload: u32,
    /// Datagrams per second, kept exactly; 0 for as fast as possible.
    pub rate: u64,
    pub time: Duration,
    /// True to connect the socket, so that the route is looked up once.
    pub connected: bool,
    /// Datagrams per system call: 1 uses `send` or `sendto`, more use `sendmmsg`; at most [`Flood::MOST`].
    pub batch: u32,
}

impl Flood {
    /// Largest payload that the length fields of IPv4 and UDP permit.
    pub const LARGEST: u32 = 65_507;
    /// Greatest number of datagrams per system call (the kernel's UIO_MAXIOV).
    pub const MOST: u32 = 1024;
}

/// Number of calls between two checks of the stop, without a rate.
const STRETCH: u32 = 64;

/// Runs a flood. The test has the datagrams sent, those refused by the kernel with the reasons, and the nanoseconds of
/// the calling thread's time per datagram; nothing counts as received, since the fate of the datagrams further on is
/// unknown.
///
/// # Errors
/// The socket cannot be made or connected.
pub fn flood(order: &Flood, stop: &Stop) -> io::Result<Test> {
    let any: SocketAddr = match order.to {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any)?;
    // As netsend does by default: permits a broadcast address.
    socket.set_broadcast(true)?;
    if order.connected {
        socket.connect(order.to)?;
    }
    let local = snmp();
    let mut sender = Sender::new(order, &socket);
    let mut clock = Clock::new();
    let before = ThreadTime::of_this_thread();
    let (start, limit) = (clock.now(), saturating_ns(order.time));
    let mut pace = Pace::new(order.rate, order.batch);
    let mut spent_calling = 0u64;
    let mut now = start;
    while now - start < limit && !stop.asked() {
        let allowed = pace.allowance(now);
        if allowed == 0 {
            wait(&mut clock, pace.next().unwrap_or(now).min(start.saturating_add(limit)), stop);
            now = clock.now();
            continue;
        }
        let calls = if order.rate == 0 { (STRETCH / order.batch.max(1)).max(1) } else { 1 };
        for _ in 0..calls {
            sender.call(allowed);
        }
        pace.pass(allowed);
        let after = clock.now();
        spent_calling += after - now;
        now = after;
    }
    let used = ThreadTime::of_this_thread().since(before);
    Ok(sender.into_test(order, now - start, spent_calling, used, &local))
}

/// Waits until a time, asleep while it is far and spinning when it is near.
fn wait(clock: &mut Clock, until: u64, stop: &Stop) {
    /// Longest delay of a wake-up, nanoseconds.
    const NEAR: u64 = 200_000;
    loop {
        let left = until.saturating_sub(clock.now());
        if left == 0 || stop.asked() {
            return;
        }
        if left > NEAR {
            linerate_rt::pause(&[stop], Some(linerate_rt::monotonic_ns() + left - NEAR));
        } else {
            std::hint::spin_loop();
        }
    }
}

/// The system calls, and their results.
struct Sender<'a> {
    socket: &'a UdpSocket,
    data: Vec<u8>,
    to: Option<To>,
    batch: Option<Batch>,
    offered: u64,
    sent: u64,
    refused: BTreeMap<Errno, u64>,
}

impl<'a> Sender<'a> {
    fn new(order: &Flood, socket: &'a UdpSocket) -> Self {
        let to = (!order.connected).then(|| To::from(order.to));
        let data = vec![0x55; order.payload as usize];
        let batch = (order.batch > 1).then(|| Batch::new(order.batch as usize, &data, to));
        Self { socket, data, to, batch, offered: 0, sent: 0, refused: BTreeMap::new() }
    }

    /// Offers `n` datagrams in one system call. When only some of them are sent, the rest was not refused but not
    /// tried, and is tried again.
    #[inline]
    fn call(&mut self, n: u32) {
        let mut left = n as usize;
        self.offered += u64::from(n);
        while left > 0 {
            let result = match (&mut self.batch, &self.to) {
                (Some(batch), _) => batch.send(self.socket, left),
                (None, Some(to)) => udp::send_to(self.socket, &self.data, to).map(|_| 1),
                (None, None) => udp::send(self.socket, &self.data).map(|_| 1),
            };
            match result {
                Err(libc::EINTR) => {}
                Ok(sent) if sent > 0 => {
                    self.sent += sent as u64;
                    left -= sent.min(left);
                }
                // An error belongs to the first of the remaining datagrams.
                refused => {
                    *self.refused.entry(refused.err().unwrap_or(0)).or_default() += 1;
                    left -= 1;
                }
            }
        }
    }

    fn into_test(
        self,
        order: &Flood,
        elapsed: u64,
        calling: u64,
        used: ThreadTime,
        before: &BTreeMap<String, u64>,
    ) -> Test {
        #[expect(clippy::cast_precision_loss, reason = "a quotient to a few digits")]
        let ns = calling as f64 / self.offered as f64;
        let how = match (order.batch > 1, order.connected) {
            (true, _) => "sendmmsg",
            (false, true) => "send",
            (false, false) => "sendto",
        };
        let asked = [
            ("to", order.to.to_string().into()),
            ("payload", order.payload.into()),
            ("rate", order.rate.into()),
            ("batch", order.batch.into()),
            ("connected", order.connected.into()),
        ];
        let refused =
            self.refused.iter().map(|(errno, n)| (io::Error::from_raw_os_error(*errno).to_string(), *n)).collect();
        let now = snmp();
        let since = |(name, n): (&String, &u64)| Some((name.clone(), n.checked_sub(*before.get(name)?)?));
        let mut test = Test {
            id: format!("flood-{how}"),
            title: format!("flood by {how} to {}", order.to),
            workload: "flood".to_owned(),
            parameters: parameters(asked),
            repeats: vec![Repeat {
                value: ns.into(),
                seconds: Duration::from_nanos(elapsed).as_secs_f64().into(),
                valid: true,
                ..Repeat::default()
            }],
            ledger: Some(Ledger { offered: Some(self.offered), sent: Some(self.sent), refused, ..Ledger::default() }),
            counters: now.iter().filter_map(since).collect(),
            cpu: vec![linerate_result::Cpu {
                thread: "flood".to_owned(),
                user_s: used.user.as_secs_f64().into(),
                system_s: used.system.as_secs_f64().into(),
                ..Default::default()
            }],
            ..Test::default()
        };
        test.summarize(Unit::Ns);
        test
    }
}

/// The kernel's UDP counters of this network namespace (all its sockets together); empty where there are none.
fn snmp() -> BTreeMap<String, u64> {
    let text = std::fs::read_to_string("/proc/thread-self/net/snmp").unwrap_or_default();
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp:"));
    let (Some(names), Some(numbers)) = (lines.next(), lines.next()) else { return BTreeMap::new() };
    names
        .split_ascii_whitespace()
        .zip(numbers.split_ascii_whitespace())
        .filter(|(name, _)| ["OutDatagrams", "SndbufErrors", "InDatagrams", "NoPorts", "RcvbufErrors"].contains(name))
        .filter_map(|(name, n)| Some((format!("Udp{name} of the host"), n.parse().ok()?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_host::Rtnetlink;
    use std::time::Instant;

    fn order(to: &str) -> Flood {
        Flood {
            to: to.parse().unwrap(),
            payload: 22,
            rate: 0,
            time: Duration::from_millis(20),
            connected: false,
            batch: 1,
        }
    }

    fn counted(test: &Test) -> (u64, u64, u64) {
        let ledger = test.ledger.as_ref().unwrap();
        assert_eq!(ledger.settle().sending, Some(0), "{ledger:?}");
        (ledger.offered.unwrap(), ledger.sent.unwrap(), ledger.refused.values().sum())
    }

    /// Datagrams counted as sent arrive at a reader with room for them, unless the kernel drops them: its backlog is shared with
    /// others.
    #[test]
    fn what_is_sent_arrives() {
        let reader = UdpSocket::bind("127.0.0.1:0").unwrap();
        reader.set_nonblocking(true).unwrap();
        udp::set_buffer(&reader, true, 64 << 20);
        let stop = Stop::new().unwrap();
        for (connected, batch) in [(false, 1), (true, 1), (false, 8), (true, 8)] {
            let dropped = || Rtnetlink::open().unwrap().link("lo").unwrap().stats.rx_dropped;
            let (to, before) = (reader.local_addr().unwrap(), dropped());
            let one = Flood { to, connected, batch, rate: 20_000, ..order("127.0.0.1:9") };
            let (offered, sent, refused) = counted(&flood(&one, &stop).unwrap());
            assert!(sent > 0 && offered == sent && refused == 0, "{offered} {sent} {refused}");
            let (mut room, mut arrived, end) = ([0; 64], 0, Instant::now() + Duration::from_secs(60));
            // 20000 per second for 20 ms are 400, or somewhat more if this thread noticed the end late.
            while arrived < sent {
                match reader.recv(&mut room) {
                    Ok(n) => assert_eq!(n, 22),
                    Err(_) if arrived + dropped() - before >= sent => break,
                    Err(e) => {
                        let late = Instant::now() >= end;
                        assert!(!late, "{arrived} of {sent}, connected {connected}, {batch} a call: {e}");
                        std::thread::sleep(Duration::from_millis(1));
                        continue;
                    }
                }
                arrived += 1;
            }
            assert!(reader.recv(&mut room).is_err(), "no more than {sent}");
        }
    }

    /// Without a listener the kernel reports it on a connected socket, and the datagram is counted as refused with that
    /// reason.
    #[test]
    fn what_is_refused_has_its_reason() {
        let nobody = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let stop = Stop::new().unwrap();
        let one = Flood { to: nobody, connected: true, ..order("127.0.0.1:9") };
        let test = flood(&one, &stop).unwrap();
        let (_, sent, refused) = counted(&test);
        assert!(sent > 0 && refused > 0);
        assert!(test.ledger.unwrap().refused.keys().all(|reason| reason.contains("refused")));
    }

    #[test]
    fn too_large_is_refused_each_time() {
        let stop = Stop::new().unwrap();
        let one = Flood { payload: 65_508, rate: 1000, ..order("127.0.0.1:9") };
        let (offered, sent, refused) = counted(&flood(&one, &stop).unwrap());
        assert!(offered > 0 && sent == 0 && refused == offered);
    }

    #[test]
    fn a_stop_ends_it() {
        let stop = Stop::new().unwrap();
        stop.ask(2);
        let one = Flood { time: Duration::from_secs(600), rate: 1, ..order("127.0.0.1:9") };
        assert_eq!(counted(&flood(&one, &stop).unwrap()).0, 0);
    }
}
