//! One schedule: the stations, the network between them, the work, and the faults.

use crate::chance::Chance;
use crate::medium::{BLOCK, Medium};
use crate::model::{BLOCKS, Kind, Model, RAM};
use crate::network::Network;
use crate::station::{SECOND, Station, lun};
use crate::work::{self, End};
use linerate_block::Tag;
use linerate_fcoe::{AuthConfig, AuthFailure, Completed, NodeEvent, Outcome, Secret, TaskAttribute};
use linerate_wire::{EthernetFrame, Wwn};
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::rc::Rc;

/// The target's place among the stations; initiators follow.
const TARGET: usize = 0;
/// Tags from here on are of resets of units.
const RESETS: u32 = 1 << 16;
/// Time that an unanswered abort adds to a command's time limit: two times twice R_A_TOV, and a little.
const ABORT: u64 = 17 * SECOND;
/// Time after the last fault within which all sessions must be up: a neighbour is forgotten after 20 s, a claim or a
/// beacon comes every 8 s, and requests are repeated.
const RECOVERY: u64 = 120 * SECOND;
/// Further time within which a disk must be readable: commands of departed initiators may fill a queue for as long as
/// the target's patience.
const READABLE: u64 = 30 * SECOND;
/// Content of another disk in the place of the one in memory.
static OTHER: [u8; BLOCKS * BLOCK] = [0xee; BLOCKS * BLOCK];
/// Number of turns at one instant that means a deadlock.
const STUCK: u32 = 20_000;

/// Scheduled event.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrive(usize, Vec<u8>),
    /// A station that had no room looks again.
    Room(usize),
    Submit(usize),
    Reset(usize),
    /// Another disk takes the place of the one in memory, or that one comes back.
    Exchange(bool),
    Restart(usize),
    /// A station logs out, as before it goes.
    Leave(usize),
    Link(usize, bool),
    /// Frames do not reach a station, who does not notice.
    Deaf(usize, bool),
}

/// A command under way: whose, in the model, and by when it must have ended.
#[derive(Debug)]
struct Pending {
    initiator: usize,
    id: usize,
    begun: u64,
    due: u64,
}

pub(crate) struct World {
    chance: Chance,
    now: u64,
    count: u64,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    network: Network,
    stations: Vec<Station>,
    /// Stations that hear nothing.
    deaf: Vec<bool>,
    medium: Rc<RefCell<Medium>>,
    model: Model,
    pending: Vec<Option<Pending>>,
    resets: Vec<(usize, u32, u64)>,
    /// While another disk is in the place of the one in memory: since when, and what that one holds.
    put_aside: Option<(u64, Vec<u8>)>,
    /// Time within which commands are submitted and stations fail.
    length: u64,
    tally: Tally,
}

impl World {
    /// Everything may fail.
    pub(crate) fn new(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let network = Network::new(&mut chance);
        let mut world = Self::on(network, chance);
        world.plan_work();
        world.plan_failures();
        world
    }

    /// Frames are doubled and overtake each other; nothing else fails.
    pub(crate) fn that_reorders(seed: u64) -> Self {
        let mut world = Self::on(Network::that_reorders(), Chance::new(seed));
        world.plan_work();
        world
    }

    fn on(network: Network, mut chance: Chance) -> Self {
        let initiators = 1 + chance.index(3);
        let mut stations: Vec<_> = (0..=initiators).map(|i| Station::new(i, i == TARGET, &mut chance)).collect();
        let pace = chance.of(&[(1_000, 50_000), (100_000, SECOND), (20_000, 8 * SECOND)]);
        let medium = Rc::new(RefCell::new(Medium::new(BLOCKS, chance.next(), pace)));
        stations[TARGET].plug(&[0; BLOCKS * BLOCK], &medium);
        // In half of the schedules nobody gets in without a proof, and some want one of the target.
        if chance.often(500) {
            authenticate(&mut stations, &mut chance);
        }
        let deaf = vec![false; stations.len()];
        Self {
            chance,
            now: 0,
            count: 0,
            events: BinaryHeap::new(),
            network,
            stations,
            deaf,
            medium,
            model: Model::new(),
            pending: Vec::new(),
            resets: Vec::new(),
            put_aside: None,
            length: 0,
            tally: Tally::default(),
        }
    }

    /// True if the target knows that its peers are who they say, where it has to.
    fn is_proved(&self) -> bool {
        let target = &self.stations[TARGET].node;
        target.logins().auth_counters().is_none() || target.peers().all(|peer| peer.authenticated)
    }

    /// The links come up, and commands are submitted, when it happens.
    fn plan_work(&mut self) {
        for i in 0..self.stations.len() {
            let at = self.chance.below(SECOND);
            self.at(at, Event::Link(i, true));
        }
        let length = self.chance.of(&[3, 10, 30]) * SECOND;
        self.length = length;
        for _ in 0..20 + self.chance.below(60) {
            let who = 1 + self.chance.index(self.stations.len() - 1);
            // In bursts, so that commands meet.
            let at = self.chance.below(8) * length / 8 + self.chance.below(3_000_000);
            self.at(2 * SECOND + at, Event::Submit(who));
        }
    }

    /// Units are reset, stations restart, leave, lose their links or hear nothing for a while.
    fn plan_failures(&mut self) {
        let length = self.length;
        for _ in 0..self.chance.of(&[0, 0, 1, 3]) {
            let (who, at) = (1 + self.chance.index(self.stations.len() - 1), self.chance.below(length));
            self.at(2 * SECOND + at, Event::Reset(who));
        }
        for _ in 0..self.chance.of(&[0, 0, 1, 3]) {
            let at = 2 * SECOND + self.chance.below(length);
            self.at(at, Event::Exchange(true));
            let until = at + self.chance.below(3 * SECOND);
            self.at(until, Event::Exchange(false));
        }
        for _ in 0..self.chance.of(&[0, 0, 1, 2, 4]) {
            let (who, at) = (self.chance.index(self.stations.len()), 2 * SECOND + self.chance.below(length));
            let long = self.chance.of(&[1_000, SECOND / 10, 3 * SECOND, 30 * SECOND]);
            let until = at + self.chance.below(long);
            match self.chance.below(4) {
                0 => self.at(at, Event::Restart(who)),
                3 => {
                    self.at(at, Event::Leave(who));
                    self.at(until, Event::Restart(who));
                }
                1 => {
                    self.at(at, Event::Link(who, false));
                    self.at(until, Event::Link(who, true));
                }
                _ => {
                    self.at(at, Event::Deaf(who, true));
                    self.at(until, Event::Deaf(who, false));
                }
            }
        }
    }

    /// Number of initiators.
    pub(crate) fn initiators(&self) -> u64 {
        self.stations.len() as u64 - 1
    }

    fn at(&mut self, at: u64, event: Event) {
        self.count += 1;
        self.events.push(Reverse((at, self.count, event)));
    }

    /// The whole schedule; panics when something is not as it must be.
    pub(crate) fn run(mut self) -> Tally {
        let last = self.events.iter().map(|Reverse((at, ..))| *at).max().unwrap_or(0);
        self.pass(last);
        self.network.heal();
        self.medium.borrow_mut().pace = (1_000, 1_000);
        self.until("all commands end", ABORT + 31 * SECOND, |world| world.model.is_quiet() && world.resets.is_empty());
        self.until("all sessions are up", RECOVERY, |world| {
            let mut initiators = world.stations[1..].iter();
            initiators.all(|station| station.is_logged_in(&world.stations[TARGET]))
        });
        assert!(self.is_proved());
        for initiator in 1..self.stations.len() {
            for lun in 0..2 {
                self.read_all(initiator, lun);
            }
        }
        self.pass(self.now + 40 * SECOND);
        self.nothing_is_left();
        self.count_recoveries();
        (self.tally.schedules, self.tally.faults) = (1, self.network.counts);
        self.tally
    }

    /// All blocks are read, by 16, and are what they must be.
    fn read_all(&mut self, initiator: usize, lun: usize) {
        let end = self.now + READABLE;
        loop {
            assert!(self.now < end, "initiator {initiator} cannot read disk {lun}");
            let before = self.tally.good;
            let mut asked = 0;
            for first in (0..BLOCKS).step_by(16) {
                let id = self.model.begin(Kind::Read, lun, first..first + 16);
                asked += u64::from(self.submit(initiator, id, TaskAttribute::Simple, 5 * SECOND));
            }
            self.until("disks are read", 6 * SECOND + ABORT, |world| world.model.is_quiet());
            if asked == 3 && self.tally.good == before + 3 {
                return;
            }
            self.pass(self.now + SECOND);
        }
    }

    fn nothing_is_left(&mut self) {
        for (i, station) in self.stations.iter_mut().enumerate() {
            assert!(!station.node.is_blocked(), "station {i} has something to send");
            if let Some(initiator) = station.node.initiator() {
                assert_eq!(initiator.exchanges(), 0, "initiator {i} has exchanges");
            }
        }
        let target = self.stations[TARGET].node.target().unwrap();
        assert_eq!(target.exchanges(), 0, "the target has exchanges");
        assert!(target.peers().all(|peer| peer.queue_depth == 0));
        assert_eq!(target.device().lent(), 0, "buffers are lost");
        assert!(target.device().status().all(|disk| disk.in_flight == 0));
        assert_eq!(self.medium.borrow().open(), 0);
    }

    /// Counts frames that came early, and commands for which something was sent again.
    fn count_recoveries(&mut self) {
        self.tally.early = self.stations[TARGET].node.target().unwrap().counters().early;
        for station in &self.stations[1..] {
            let Some((peer, initiator)) = station.session().zip(station.node.initiator()) else { continue };
            let counters = initiator.counters(peer.id);
            self.tally.early += counters.out_of_order;
            self.tally.recovered += counters.resent + counters.srr;
        }
    }

    fn until(&mut self, what: &str, within: u64, done: impl Fn(&Self) -> bool) {
        let end = self.now + within;
        while !done(self) {
            let next = self.next().filter(|next| *next <= end);
            let next = next.unwrap_or_else(|| panic!("not within {} s: {what}: {:?}", within / SECOND, self.pending));
            self.pass(next);
        }
    }

    /// Time of the next event.
    fn next(&self) -> Option<u64> {
        let event = self.events.peek().map(|Reverse((at, ..))| *at);
        let timers = self.stations.iter().filter_map(|station| station.node.poll_timeout()).min();
        [event, timers, self.medium.borrow().next()].into_iter().flatten().min().map(|at| at.max(self.now))
    }

    /// All that happens by then.
    fn pass(&mut self, end: u64) {
        let mut turns = 0;
        while let Some(next) = self.next().filter(|next| *next <= end) {
            turns = if next == self.now { turns + 1 } else { 0 };
            assert!(turns < STUCK, "time stands still at {next}");
            self.now = next;
            if self.medium.borrow().next().is_some_and(|at| at <= next) {
                self.medium.borrow_mut().advance(next);
                self.turn(TARGET);
            }
            for i in 0..self.stations.len() {
                if self.stations[i].node.poll_timeout().is_some_and(|at| at <= next) {
                    self.turn(i);
                }
            }
            while let Some(Reverse((at, ..))) = self.events.peek()
                && *at <= next
            {
                let Some(Reverse((.., event))) = self.events.pop() else { break };
                self.happen(event);
            }
        }
        self.now = self.now.max(end);
        let late = self.pending.iter().flatten().find(|pending| pending.due < end);
        assert!(late.is_none(), "has no end at {end}: {late:?}");
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Arrive(to, frame) => {
                let Ok(ethernet) = EthernetFrame::new_checked(&frame[..]) else { return };
                let heard = &self.stations[to];
                if heard.link && !self.deaf[to] && heard.hears(ethernet.dst()) {
                    let room = self.room();
                    let station = &mut self.stations[to];
                    station.out.room = room;
                    station.node.handle(self.now, &frame, &mut station.out);
                    self.turn(to);
                }
            }
            Event::Room(who) => self.turn(who),
            Event::Submit(who) => {
                let id = work::begin(&mut self.chance, &mut self.model);
                let attribute = match self.chance.below(30) {
                    0 => TaskAttribute::Ordered,
                    1 => TaskAttribute::HeadOfQueue,
                    _ => TaskAttribute::Simple,
                };
                let timeout = self.chance.of(&[30, 30, 30, 5, 1]) * SECOND;
                self.submit(who, id, attribute, timeout);
            }
            Event::Reset(who) => self.reset(who),
            Event::Exchange(other) => self.exchange(other),
            Event::Restart(who) => self.restart(who),
            Event::Leave(who) => {
                let room = self.room();
                let station = &mut self.stations[who];
                station.out.room = room;
                station.node.log_out(self.now, &mut station.out);
                self.turn(who);
            }
            Event::Link(who, up) => {
                self.tally.links += u64::from(!up);
                self.link(who, up);
            }
            Event::Deaf(who, deaf) => self.deaf[who] = deaf,
        }
    }

    fn link(&mut self, who: usize, up: bool) {
        let room = self.room();
        let station = &mut self.stations[who];
        station.link = up;
        station.out.room = room;
        station.node.set_link(self.now, up, &mut station.out);
        self.turn(who);
    }

    /// Room for frames: mostly much.
    fn room(&mut self) -> usize {
        if self.chance.often(50) { self.chance.index(4) } else { 256 }
    }

    /// A station does what is due, its frames go, and what it tells is taken in.
    fn turn(&mut self, who: usize) {
        let room = self.room();
        let station = &mut self.stations[who];
        station.out.room = room;
        station.node.poll(self.now, &mut station.out);
        let blocked = station.node.is_blocked();
        let frames = std::mem::take(&mut station.out.frames);
        if blocked {
            self.at(self.now + 5_000, Event::Room(who));
        }
        if self.stations[who].link && !self.deaf[who] {
            for frame in frames {
                self.send(who, frame);
            }
        }
        while let Some(event) = self.stations[who].node.poll_event() {
            match event {
                NodeEvent::Up(peer) if who != TARGET && peer.role.target => self.model.logged_in(who),
                NodeEvent::Up(peer) if who == TARGET => {
                    self.tally.logins += 1;
                    let demands = self.stations[TARGET].node.logins().auth_counters().is_some();
                    assert!(peer.authenticated || !demands, "{} is let in without a proof", peer.wwpn);
                    self.tally.proved += u64::from(peer.authenticated);
                }
                NodeEvent::Authenticated(_, proof) if who != TARGET => self.tally.mutual += u64::from(proof.theirs),
                // All know the secrets: frames alone can be in the way.
                NodeEvent::Unauthenticated(_, why) => {
                    assert!(
                        !matches!(why, AuthFailure::Wrong | AuthFailure::Refused | AuthFailure::Unknown),
                        "{why:?}"
                    );
                }
                _ => {}
            }
        }
        while let Some(completed) =
            self.stations[who].node.initiator_mut().and_then(|(initiator, _)| initiator.poll_completion())
        {
            self.completed(who, &completed);
        }
    }

    fn send(&mut self, from: usize, frame: Vec<u8>) {
        let Self { chance, network, events, count, now, stations, .. } = self;
        let Ok(ethernet) = EthernetFrame::new_checked(&frame[..]) else { return };
        let to = ethernet.dst();
        for (i, station) in stations.iter().enumerate().filter(|(i, _)| *i != from) {
            if station.hears(to) {
                network.carry(chance, frame.clone(), |after, frame| {
                    *count += 1;
                    events.push(Reverse((*now + after, *count, Event::Arrive(i, frame))));
                });
            }
        }
    }

    /// Submits the command of an operation; true if a session took it.
    fn submit(&mut self, who: usize, id: usize, attribute: TaskAttribute, timeout: u64) -> bool {
        let Some(peer) = self.stations[who].session() else {
            self.model.refused(id);
            return false;
        };
        let free = self.pending.iter().position(Option::is_none);
        let at = free.unwrap_or(self.pending.len());
        if free.is_none() {
            self.pending.push(None);
        }
        let tag = Tag(u32::try_from(at).unwrap());
        let command = work::command(self.model.op(id), tag, attribute, timeout);
        let Some((initiator, _)) = self.stations[who].node.initiator_mut() else { return false };
        if initiator.submit(self.now, &peer, command).is_err() {
            self.model.refused(id);
            return false;
        }
        self.pending[at] = Some(Pending { initiator: who, id, begun: self.now, due: self.now + timeout + ABORT });
        self.tally.commands += 1;
        self.turn(who);
        true
    }

    fn completed(&mut self, who: usize, completed: &Completed) {
        let Completed { tag, outcome, .. } = completed;
        if let Some(at) = self.resets.iter().position(|(initiator, reset, _)| (*initiator, *reset) == (who, tag.0)) {
            let (.., due) = self.resets.swap_remove(at);
            assert!(self.now <= due, "a reset of a unit ends late");
            self.tally.resets += u64::from(matches!(outcome, Outcome::Function(0)));
            return;
        }
        let at = usize::try_from(tag.0).unwrap();
        let pending = self.pending[at].take().expect("a command ends once");
        assert_eq!(pending.initiator, who);
        assert!(self.now <= pending.due, "{pending:?} ends late, at {}", self.now);
        let end = work::end(completed);
        self.tally.ends[end as usize] += 1;
        match end {
            End::Good => {
                let on = self.model.op(pending.id).lun;
                let other = self.put_aside.as_ref().is_some_and(|(since, _)| *since < pending.begun);
                assert!(on != RAM || !other, "a command succeeds on the other disk");
                self.tally.good += 1;
                let data = completed.buffer.as_ref().map_or(&[][..], |buffer| buffer.bytes());
                self.model.good(pending.id, data);
            }
            End::Differs => self.model.differs(pending.id),
            End::Refused | End::Denied | End::Failed => self.model.failed(pending.id, None),
            End::Lost => self.model.failed(pending.id, Some(who)),
        }
    }

    fn reset(&mut self, who: usize) {
        let Some(peer) = self.stations[who].session() else { return };
        let unit = lun(self.chance.index(2));
        let tag = RESETS + u32::try_from(self.count).unwrap();
        let Some((initiator, _)) = self.stations[who].node.initiator_mut() else { return };
        if initiator.lun_reset(self.now, &peer, unit, Tag(tag), 10 * SECOND).is_ok() {
            self.resets.push((who, tag, self.now + 10 * SECOND + ABORT));
            self.turn(who);
        }
    }

    /// All initiators that are there know the disk in memory. Another one in its place is out of their reach: no command may
    /// succeed there, nor change anything.
    fn exchange(&mut self, other: bool) {
        let know = self.stations[TARGET].node.peers().count() == self.stations.len() - 1;
        let target = &mut self.stations[TARGET];
        match self.put_aside.take() {
            None if other && know => {
                self.tally.exchanges += 1;
                self.put_aside = Some((self.now, target.content(false)));
                target.exchange(true, &OTHER);
            }
            Some((_, content)) if !other => {
                assert!(target.content(true) == OTHER, "the other disk was written");
                target.exchange(false, &content);
            }
            as_it_is => self.put_aside = as_it_is,
        }
        self.turn(TARGET);
    }

    /// A station's process is killed, and another one takes its place.
    fn restart(&mut self, who: usize) {
        self.tally.restarts += 1;
        let target = self.stations[who].is_target();
        let aside = if target { self.put_aside.take() } else { None };
        let content = match aside {
            Some((_, content)) => content,
            None if target => self.stations[who].content(false),
            None => Vec::new(),
        };
        self.stations[who].restart(&mut self.chance);
        if target {
            self.medium.borrow_mut().restart();
            self.model.restarted();
            self.stations[who].plug(&content, &self.medium);
        } else {
            for at in 0..self.pending.len() {
                if let Some(pending) = self.pending[at].take_if(|pending| pending.initiator == who) {
                    self.model.failed(pending.id, Some(who));
                }
            }
            self.resets.retain(|(initiator, ..)| *initiator != who);
        }
        self.link(who, true);
    }
}

/// Gives all stations secrets: the target lets nobody in without a proof, and some initiators ask for one of it.
fn authenticate(stations: &mut [Station], chance: &mut Chance) {
    let secret = |name: Wwn| Secret::new(format!("the secret of {name}").as_bytes()).unwrap();
    let names: Vec<_> = stations.iter().map(Station::wwpn).collect();
    for (i, station) in stations.iter_mut().enumerate() {
        let known = match i {
            TARGET => &names[1..],
            _ if chance.often(300) => &names[..1],
            _ => &[],
        };
        let names = known.iter().map(|name| (*name, secret(*name))).collect();
        let auth = AuthConfig { own: Some(secret(station.wwpn())), names, all: i == TARGET, ..AuthConfig::default() };
        station.authenticate(auth, chance);
    }
}

/// Counters over schedules.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) schedules: u64,
    pub(crate) commands: u64,
    pub(crate) good: u64,
    pub(crate) ends: [u64; 6],
    pub(crate) logins: u64,
    /// Logins in which the initiator has proved its name, and proofs of the target.
    pub(crate) proved: u64,
    pub(crate) mutual: u64,
    pub(crate) resets: u64,
    pub(crate) exchanges: u64,
    pub(crate) restarts: u64,
    pub(crate) links: u64,
    pub(crate) faults: [u64; 4],
    /// Frames of data that were stored before those that precede them.
    pub(crate) early: u64,
    /// Commands, or parts of their data, that were sent again in the last sessions.
    pub(crate) recovered: u64,
}

impl Tally {
    /// Commands that were lost with their session.
    pub(crate) fn lost(&self) -> u64 {
        self.ends[End::Lost as usize]
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.schedules += other.schedules;
        self.commands += other.commands;
        self.good += other.good;
        self.logins += other.logins;
        self.proved += other.proved;
        self.mutual += other.mutual;
        self.resets += other.resets;
        self.exchanges += other.exchanges;
        self.restarts += other.restarts;
        self.links += other.links;
        self.early += other.early;
        self.recovered += other.recovered;
        let pairs = self.ends.iter_mut().zip(other.ends).chain(self.faults.iter_mut().zip(other.faults));
        pairs.for_each(|(sum, count)| *sum += count);
    }

    /// Every kind of fault and of end has happened: schedules that do nothing prove nothing.
    pub(crate) fn assert_all_happened(&self) {
        let Self { schedules, commands, good, ends, logins, proved, mutual, resets, exchanges, .. } = self;
        let Self { restarts, links, faults, early, recovered, .. } = self;
        let sessions = [logins, proved, mutual, restarts, links];
        let counts = [schedules, commands, good, resets, exchanges, early, recovered].into_iter().chain(sessions);
        assert!(counts.chain(ends).chain(faults).all(|count| *count > 0), "{self:?}");
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { schedules, commands, good, ends, logins, proved, mutual, resets, exchanges, .. } = self;
        let Self { restarts, links, faults, early, recovered, .. } = self;
        let ([_, differ, refused, denied, failed, gone], [lost, doubled, late, corrupt]) = (ends, faults);
        write!(
            f,
            "{schedules} schedules, {logins} logins ({proved} authenticated, {mutual} targets), {restarts} restarts, {links} links down, {resets} units reset, \
             {exchanges} exchanged\n\
             frames: {lost} lost, {doubled} doubled, {late} late, {corrupt} corrupt; {early} of data early, \
             {recovered} recoveries\n\
             commands: {commands}, {good} good, {differ} found a difference, {refused} refused, {denied} denied, \
             {failed} failed, \
             {gone} lost with their session"
        )
    }
}
