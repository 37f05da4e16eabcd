//! Setting: group after group in the order that drivers accept, each read back. What is refused is tried again after the
//! others, as long as anything changes: some need others that come behind them (fewer queues, a narrower table first).

use super::build::build;
use super::state::{State, Tunable, group_of, read};
use super::table::{GROUPS, Group, PRIVATE, find, group_of_feature};
use super::words::Wish;
use super::{Target, Value};
use crate::absent::Absent;
use crate::adapter::Subject;
use std::time::{Duration, Instant};

/// Rounds over what is refused.
const ROUNDS: usize = 3;
/// Time in which a link that is set up anew comes back, and time between two looks at it.
const LINK: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(50);

/// A setting that is not as it was wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Name of the setting, and the value wanted.
    pub wish: Wish,
    /// Value that it has.
    pub now: Option<Value>,
    /// The kernel's words; or that it answered yes and did not do it.
    pub why: Absent,
}

/// Result of setting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Settings before the first change.
    pub before: State,
    /// Settings as they are read after the last one.
    pub after: State,
    /// Settings that are not as wanted.
    pub refused: Vec<Refused>,
    pub gone: bool,
}

/// Time at which an offload is on as wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// True once it is in effect.
    Effect,
    /// True once it is requested, as files keep it: it may wait for another one.
    Request,
}

/// Sets settings of an interface. Those that are as wanted already are not touched.
pub fn apply(target: &mut dyn Target, subject: &Subject, wishes: &[Wish], aim: Aim) -> Outcome {
    let before = read(target, subject);
    let mut hand = Hand {
        target,
        subject,
        aim,
        before: &before,
        now: before.clone(),
        refused: Vec::new(),
        gone: false,
        link_until: None,
    };
    let mut open: Vec<&Wish> = wishes.iter().collect();
    for _ in 0..ROUNDS {
        let at_first = hand.now.clone();
        hand.refused.clear();
        for group in GROUPS {
            let ours: Vec<_> = open.iter().copied().filter(|wish| group_of_name(&wish.name) == group).collect();
            hand.set(group, &ours);
        }
        open.retain(|wish| hand.refused.iter().any(|refused| refused.wish == **wish));
        if open.is_empty() || hand.gone || hand.now == at_first {
            break;
        }
    }
    let (mut refused, mut gone) = (hand.refused, hand.gone);
    let after = read(target, subject);
    gone |= after.why(Group::Link).is_some_and(Absent::is_gone);
    if !gone {
        refused.extend(undone(wishes, &after, &refused, aim));
    }
    Outcome { before, after, refused, gone }
}

/// Wishes that were fulfilled and are not any more: another one took them back.
fn undone(wishes: &[Wish], after: &State, refused: &[Refused], aim: Aim) -> Vec<Refused> {
    let lost = wishes.iter().filter(|wish| !refused.iter().any(|one| one.wish == **wish) && !is(after, wish, aim));
    let row = |wish: &Wish| Refused {
        wish: wish.clone(),
        now: after.get(&wish.name).map(|one| one.value.clone()),
        why: Absent::told("it was set, and another setting has changed it"),
    };
    lost.map(row).collect()
}

fn is(state: &State, wish: &Wish, aim: Aim) -> bool {
    let as_wanted = |one: &Tunable| match one.waits {
        // It comes back with what it waits for, so it is not off as wanted; nor is it on.
        true => aim == Aim::Request && wish.value == Value::On(true),
        false => same(&one.value, &wish.value),
    };
    state.get(&wish.name).is_some_and(as_wanted)
}

/// True if two values are one: sets have no order, tables of numbers have.
#[must_use]
pub fn same(one: &Value, other: &Value) -> bool {
    let (Value::Text(one), Value::Text(other)) = (one, other) else { return one == other };
    let sorted = |text: &str| {
        let mut words: Vec<_> = text.split(',').map(str::to_owned).collect();
        words.sort_unstable();
        words
    };
    let entries = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || b", ".contains(&b));
    one == other || (!entries(one) && sorted(one) == sorted(other))
}

/// Group of a setting by its name: names that are in no row are offloads.
#[must_use]
pub fn group_of_name(name: &str) -> Group {
    match find(name) {
        Some(row) => row.group,
        None if name.starts_with(PRIVATE) => Group::PrivateFlags,
        None => group_of_feature(name),
    }
}

/// Reason for which an interface has no setting of that name.
#[must_use]
pub fn why_not(state: &State, name: &str) -> Absent {
    let why = state.why(group_of_name(name)).cloned();
    why.unwrap_or_else(|| match (name, state.get("autoneg").map(|one| &one.value)) {
        ("advertise", Some(Value::On(false))) => Absent::told("nothing is advertised while autoneg is off"),
        ("speed" | "duplex", Some(Value::On(true))) => {
            Absent::told("it is agreed with the partner while autoneg is on")
        }
        ("speed" | "duplex", _) => Absent::told("it is not known"),
        _ => Absent::told("it has no such setting"),
    })
}

struct Hand<'a> {
    target: &'a mut dyn Target,
    subject: &'a Subject,
    aim: Aim,
    before: &'a State,
    now: State,
    refused: Vec<Refused>,
    gone: bool,
    /// Until when its link is waited for, once it has been.
    link_until: Option<Instant>,
}

impl Hand<'_> {
    /// Sets those of a group that are not as wanted: together, as some are only valid together; and one by one if that
    /// is refused, so that each has its own reason.
    fn set(&mut self, group: Group, wishes: &[&Wish]) {
        if self.gone || wishes.is_empty() {
            return;
        }
        // Settings before these may have changed what this group has.
        self.reread(group);
        let mut open = Vec::new();
        for wish in wishes.iter().copied() {
            if is(&self.now, wish, self.aim) {
                continue;
            }
            match self.hopeless(group, wish, wishes) {
                Some(why) => self.refuse(wish, why),
                None => open.push(wish),
            }
        }
        let together = !matches!(group, Group::Sysctl | Group::Rss) && open.len() > 1;
        if together && self.tell(group, &open).is_none() {
            open.retain(|wish| !is(&self.now, wish, self.aim));
            // A driver that knows no speed while its link is down refuses one without the duplex.
            open.retain(|wish| {
                let unknown = self.is_unknown(wish);
                if unknown {
                    self.refuse(wish, self.disbelieved(wish));
                }
                !unknown
            });
        }
        for wish in open {
            if is(&self.now, wish, self.aim) || self.gone {
                continue;
            }
            if let Some(why) = self.tell(group, &[wish]) {
                self.refuse(wish, why);
            } else if !is(&self.now, wish, self.aim) {
                let why = self.disbelieved(wish);
                self.refuse(wish, why);
            }
        }
    }

    /// The reason if the kernel need not be asked.
    fn hopeless(&self, group: Group, wish: &Wish, all: &[&Wish]) -> Option<Absent> {
        match self.now.get(&wish.name) {
            Some(one) if one.fixed => Some(Absent::told("its driver has it fixed")),
            Some(_) => None,
            None if group == Group::LinkModes && self.now.why(group).is_none() => {
                // Speeds are settings where they are not agreed with the partner, modes where they are.
                let needed = Value::On(wish.name == "advertise");
                let comes = all.iter().any(|one| one.name == "autoneg" && one.value == needed);
                let is_so = self.now.get("autoneg").is_some_and(|one| one.value == needed);
                (!comes && !is_so).then(|| why_not(&self.now, &wish.name))
            }
            None => Some(why_not(&self.now, &wish.name)),
        }
    }

    /// True if it is a setting of the link that nobody knows while that is down.
    fn is_unknown(&self, wish: &Wish) -> bool {
        matches!(&*wish.name, "speed" | "duplex") && self.now.get(&wish.name).is_none()
    }

    fn disbelieved(&self, wish: &Wish) -> Absent {
        let before = self.before.get(&wish.name).map(|one| &one.value);
        match self.now.get(&wish.name) {
            None if self.is_unknown(wish) => {
                Absent::told("the driver answered yes; it is known when the link is up, which it is not")
            }
            Some(one) if one.waits && wish.value == Value::On(true) => {
                Absent::told("it is requested, and off while something that it needs is off")
            }
            Some(one) if before != Some(&one.value) => Absent::told("the driver made another value of it"),
            _ => Absent::told("the driver answered yes, and did nothing"),
        }
    }

    /// Tells the kernel, and reads back; the reason if it refuses.
    fn tell(&mut self, group: Group, wishes: &[&Wish]) -> Option<Absent> {
        let told = build(group, wishes, &self.now).and_then(|change| self.target.tell(self.subject, &change));
        self.reread(group);
        if told.is_ok() {
            self.await_link(group, wishes);
        }
        told.err().inspect(|why| self.notice(why))
    }

    /// Waits for a link that was set up anew, unless it is switched off: its speed is known again then.
    fn await_link(&mut self, group: Group, wishes: &[&Wish]) {
        let is_off = self.now.get("up").is_some_and(|one| one.value == Value::On(false));
        while !is_off && !self.gone && wishes.iter().any(|wish| self.is_unknown(wish)) {
            let now = Instant::now();
            if now >= *self.link_until.get_or_insert(now + LINK) {
                break;
            }
            std::thread::sleep(LOOK);
            self.reread(group);
        }
    }

    /// Asks whether the interface is gone if a reason says so: drivers have that number for other things too.
    fn notice(&mut self, why: &Absent) {
        if why.is_gone() && !self.gone {
            let link = group_of(self.target, self.subject, Group::Link);
            self.gone = link.is_err_and(|why| why.is_gone());
        }
    }

    fn reread(&mut self, group: Group) {
        let values = group_of(self.target, self.subject, group);
        if let Err(why) = &values {
            self.notice(why);
        }
        self.now.put(group, values);
    }

    fn refuse(&mut self, wish: &Wish, why: Absent) {
        let now = self.now.get(&wish.name).map(|one| one.value.clone());
        self.refused.push(Refused { wish: wish.clone(), now, why });
    }
}
