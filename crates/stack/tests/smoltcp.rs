//! TCP against smoltcp, in process: another implementation, in virtual time, over a network that loses, doubles and reorders frames
//! by seeds. `LINERATE_SCHEDULES=n` runs n of them.

#[expect(dead_code, reason = "other tests need more of it")]
mod world;

use linerate_stack::tcp::{End, State, TcpId};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp;
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, HardwareAddress, IpAddress, IpCidr};
use std::collections::VecDeque;
use std::net::SocketAddr;
use world::{PEER, SECOND, World, ip};

const PORT: u16 = 7000;
const DELAY: u64 = 200_000;
/// Virtual time for a schedule.
const LIMIT: u64 = 900 * SECOND;

/// smoltcp's link.
#[derive(Default)]
struct Wire {
    arrived: VecDeque<Vec<u8>>,
    sent: Vec<Vec<u8>>,
    mtu: usize,
}

struct In(Vec<u8>);
struct Out<'a>(&'a mut Vec<Vec<u8>>);

impl RxToken for In {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

impl TxToken for Out<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut frame = vec![0; len];
        let done = f(&mut frame);
        self.0.push(frame);
        done
    }
}

impl Device for Wire {
    type RxToken<'a> = In;
    type TxToken<'a> = Out<'a>;

    fn receive(&mut self, _: Instant) -> Option<(In, Out<'_>)> {
        let frame = self.arrived.pop_front()?;
        Some((In(frame), Out(&mut self.sent)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Out<'_>> {
        Some(Out(&mut self.sent))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut all = DeviceCapabilities::default();
        (all.medium, all.max_transmission_unit) = (Medium::Ethernet, self.mtu + 14);
        all
    }
}

/// xorshift64*.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % n
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::try_from(self.below(all.len() as u64)).unwrap()]
    }
}

/// A schedule.
#[derive(Debug)]
struct Plan {
    seed: u64,
    /// Frames in a thousand that are lost, doubled, and late.
    faults: [u64; 3],
    v6: bool,
    ours_connects: bool,
    mtu: usize,
    /// Bytes from us, and to us.
    bytes: [usize; 2],
}

impl Plan {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        Self {
            seed,
            faults: [dice.of(&[0, 0, 10, 50, 150]), dice.of(&[0, 20]), dice.of(&[0, 50])],
            v6: dice.of(&[false, true]),
            ours_connects: dice.of(&[false, true]),
            mtu: dice.of(&[1280, 1500, 9000]),
            bytes: [(); 2].map(|()| dice.of(&[0, 1, 3000, 200_000])),
        }
    }
}

fn pattern(len: usize, seed: u64) -> Vec<u8> {
    (0..len as u64).map(|i| ((i + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}

struct Run {
    plan: Plan,
    dice: Dice,
    ours: World,
    theirs: (Interface, Wire, SocketSet<'static>, SocketHandle),
    /// Frames on their way: time, order, to us, bytes.
    flying: Vec<(u64, u64, bool, Vec<u8>)>,
    count: u64,
    lost: u64,
}

impl Run {
    fn new(plan: Plan) -> Self {
        let mut ours = World::alone();
        ours.host.set_mtu(plan.mtu.min(1500)).unwrap();
        let mut wire = Wire { mtu: plan.mtu, ..Wire::default() };
        let mut config = Config::new(HardwareAddress::Ethernet(EthernetAddress(PEER.0)));
        config.random_seed = plan.seed;
        let mut interface = Interface::new(config, &mut wire, Instant::from_micros(0));
        interface.update_ip_addrs(|all| {
            all.push(IpCidr::new(IpAddress::v4(10, 0, 0, 2), 24)).unwrap();
            all.push(IpCidr::new(IpAddress::v6(0xfd00, 0, 0, 0, 0, 0, 0, 2), 64)).unwrap();
        });
        let buffer = || tcp::SocketBuffer::new(vec![0; 65_535]);
        let mut sockets = SocketSet::new(Vec::new());
        let handle = sockets.add(tcp::Socket::new(buffer(), buffer()));
        let dice = Dice(plan.seed.wrapping_mul(77) | 1);
        Self { plan, dice, ours, theirs: (interface, wire, sockets, handle), flying: Vec::new(), count: 0, lost: 0 }
    }

    fn carry(&mut self, to_us: bool, frame: Vec<u8>) {
        let [lost, doubled, late] = self.plan.faults;
        if self.dice.below(1000) < lost {
            self.lost += 1;
            return;
        }
        for _ in 0..1 + u64::from(self.dice.below(1000) < doubled) {
            let more = if self.dice.below(1000) < late { self.dice.below(5_000_000) } else { 0 };
            self.count += 1;
            self.flying.push((self.ours.now + DELAY + more, self.count, to_us, frame.clone()));
        }
    }

    /// Lets both ends do what is due.
    fn turn(&mut self) {
        let now = self.ours.now;
        self.flying.sort_unstable_by_key(|(at, order, ..)| (*at, *order));
        let due = self.flying.partition_point(|(at, ..)| *at <= now);
        for (_, _, to_us, frame) in self.flying.drain(..due).collect::<Vec<_>>() {
            if to_us {
                self.ours.host.handle(now, &frame, None, &mut self.ours.ring);
            } else {
                self.theirs.1.arrived.push_back(frame);
            }
        }
        self.ours.host.poll(now, &mut self.ours.ring);
        assert_eq!(self.ours.host.counters().unexplained(), 0);
        for (frame, _) in self.ours.sent_with() {
            self.carry(false, frame);
        }
        let (interface, wire, sockets, _) = &mut self.theirs;
        interface.poll(Instant::from_micros(i64::try_from(now / 1000).unwrap()), wire, sockets);
        for frame in std::mem::take(&mut self.theirs.1.sent) {
            self.carry(true, frame);
        }
    }

    /// Goes to the next time at which something is due.
    fn wait(&mut self) {
        let now = self.ours.now;
        let at = Instant::from_micros(i64::try_from(now / 1000).unwrap());
        let theirs = self.theirs.0.poll_delay(at, &self.theirs.2).map(|delay| now + delay.total_micros() * 1000);
        let frames = self.flying.iter().map(|(at, ..)| *at).min();
        let next = [self.ours.host.poll_timeout(), theirs, frames].into_iter().flatten().min();
        self.ours.now = next.unwrap_or(now).max(now + 100_000);
    }

    fn run(mut self) -> u64 {
        let text = if self.plan.v6 { ["fd00::1", "fd00::2"] } else { ["10.0.0.1", "10.0.0.2"] };
        let [us, them] = text.map(|text| SocketAddr::new(ip(text), PORT));
        let sent = [pattern(self.plan.bytes[0], 1), pattern(self.plan.bytes[1], 2)];
        let (mut written, mut read, mut closed) = ([0; 2], [Vec::new(), Vec::new()], [false; 2]);
        let begun = self.ours.now;
        let mut id: Option<TcpId> = None;
        let listener = if self.plan.ours_connects {
            self.theirs.2.get_mut::<tcp::Socket<'_>>(self.theirs.3).listen(PORT).unwrap();
            id = Some(self.ours.host.tcp_connect(begun, None, them).unwrap());
            None
        } else {
            let listener = self.ours.host.tcp_listen(us, 4).unwrap();
            let (interface, _, sockets, handle) = &mut self.theirs;
            let socket = sockets.get_mut::<tcp::Socket<'_>>(*handle);
            socket.connect(interface.context(), (us.ip(), PORT), 6000).unwrap();
            Some(listener)
        };
        let mut buffer = vec![0; 100_000];
        loop {
            self.turn();
            let host = &mut self.ours.host;
            id = id.or_else(|| host.tcp_accept(listener?).map(|(id, _)| id));
            // Where all requests for the neighbour were lost the user is told (RFC 5461, section 4.1), and tries again.
            if id.and_then(|id| host.tcp_state(id)) == Some((State::Closed, Some(End::Unreachable))) {
                id = Some(host.tcp_connect(self.ours.now, None, them).unwrap());
            }
            // Closed before it stands, a connection is never made (RFC 9293, section 3.10.4).
            let stands = id.filter(|id| host.tcp_state(*id).is_some_and(|(state, _)| state != State::SynSent));
            if let Some(id) = stands {
                if written[0] < sent[0].len() {
                    written[0] += host.tcp_write(id, &sent[0][written[0]..]).unwrap();
                } else if !std::mem::replace(&mut closed[0], true) {
                    host.tcp_close(id);
                }
                let n = host.tcp_read(id, &mut buffer).unwrap();
                read[0].extend_from_slice(&buffer[..n]);
            }
            let socket = self.theirs.2.get_mut::<tcp::Socket<'_>>(self.theirs.3);
            if socket.may_send() {
                if written[1] < sent[1].len() {
                    written[1] += socket.send_slice(&sent[1][written[1]..]).unwrap();
                } else if !std::mem::replace(&mut closed[1], true) {
                    socket.close();
                }
            }
            if socket.can_recv() {
                let n = socket.recv_slice(&mut buffer).unwrap();
                read[1].extend_from_slice(&buffer[..n]);
            }
            let over = matches!(socket.state(), tcp::State::Closed | tcp::State::TimeWait);
            let state = id.and_then(|id| self.ours.host.tcp_state(id));
            // smoltcp waits for 10 s alone: a FIN that is lost several times meets a reset then.
            let all = read[1].len() == sent[0].len() && read[0].len() == sent[1].len();
            let right = |end: Option<End>| {
                end.is_none() || all && socket.state() == tcp::State::Closed && end == Some(End::Reset)
            };
            if over && state.is_some_and(|(state, end)| matches!(state, State::Closed | State::TimeWait) && right(end))
            {
                break;
            }
            let about = || {
                format!(
                    "{:?}: {state:?}, {}, {written:?}, {:?}",
                    self.plan,
                    socket.state(),
                    read.each_ref().map(Vec::len)
                )
            };
            assert!(state.is_none_or(|(_, end)| right(end)), "{}", about());
            assert!(self.ours.now < begun + LIMIT, "{}", about());
            // smoltcp does not send a FIN again if data was acknowledged after it and it was not. One that comes so late that what it
            // acknowledges is older than a window is not taken (RFC 5961, section 5.2): then both ends wait for good.
            let waits = all && socket.state() == tcp::State::Closing && state == Some((State::FinWait2, None));
            let now = Instant::from_micros(i64::try_from(self.ours.now / 1000).unwrap());
            if waits && self.flying.is_empty() && self.theirs.0.poll_delay(now, &self.theirs.2).is_none() {
                break;
            }
            self.wait();
        }
        assert!(read[1] == sent[0] && read[0] == sent[1], "{:?}: {:?} bytes", self.plan, read.each_ref().map(Vec::len));
        self.lost
    }
}

#[test]
fn every_byte_arrives_either_way() {
    let count = std::env::var("LINERATE_SCHEDULES").map_or(2000, |text| text.parse().unwrap());
    let lost: u64 = (0..count).map(|seed| Run::new(Plan::new(seed)).run()).sum();
    assert!(lost > 100, "{lost}");
}
