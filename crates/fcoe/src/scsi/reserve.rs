//! Persistent reservations (SPC-4, clause 5.13): access rights to a unit. They belong to the names of I_T nexuses, so they
//! outlive logins, and the program where that is asked for (APTPL).

use super::Response;
use super::attention::Attentions;
use super::nexus::NexusName;
use linerate_wire::scsi::{Access, Cdb, ReserveParameters, ReserveType, Sense, asc, put_list_len};

/// Most nexuses registered with a unit.
const MAX_REGISTRATIONS: usize = 256;

/// Service actions of PERSISTENT RESERVE OUT (SPC-4, table 207).
mod action {
    pub(super) const REGISTER: u8 = 0;
    pub(super) const RESERVE: u8 = 1;
    pub(super) const RELEASE: u8 = 2;
    pub(super) const CLEAR: u8 = 3;
    pub(super) const PREEMPT: u8 = 4;
    pub(super) const PREEMPT_AND_ABORT: u8 = 5;
    pub(super) const REGISTER_AND_IGNORE: u8 = 6;
}

/// A registered nexus and its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Registration {
    who: NexusName,
    key: u64,
}

/// The registrations and the reservation of one unit.
#[derive(Debug, Clone, Default)]
pub(super) struct Reservations {
    /// PRGENERATION: counts changes of registrations.
    generation: u32,
    registered: Vec<Registration>,
    /// The reservation and the nexus that made it; for a type that all registrants hold, that does not matter.
    held: Option<(ReserveType, NexusName)>,
    /// APTPL of the last registration: all of it is to survive a loss of power.
    persist: bool,
}

/// Side effects of an action on other initiators.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Effects {
    pub(super) told: Vec<(NexusName, Attentions)>,
    /// Ports whose tasks are to be aborted.
    pub(super) aborted: Vec<NexusName>,
}

impl Reservations {
    /// True if a port may execute a command now.
    #[inline]
    pub(super) fn allows(&self, who: NexusName, cdb: &Cdb) -> bool {
        let Some((kind, holder)) = self.held else { return true };
        holder == who && !kind.all()
            || kind.registrants() && self.key(who).is_some()
            || match cdb.access() {
                Access::Neither => true,
                Access::Reads => !kind.excludes_reads(),
                Access::Writes => false,
            }
    }

    /// True if there is a reservation.
    #[inline]
    pub(super) fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// True if all of it is to survive a loss of power.
    pub(super) fn persists(&self) -> bool {
        self.persist
    }

    /// Registered ports with their keys.
    pub(super) fn registered(&self) -> impl Iterator<Item = (NexusName, u64)> {
        self.registered.iter().map(|known| (known.who, known.key))
    }

    /// The reservation, and the port that made it.
    pub(super) fn held(&self) -> Option<(ReserveType, NexusName)> {
        self.held
    }

    /// State after a loss of power (SPC-4, clause 5.13.5: with PRGENERATION 0); None if it cannot have been.
    pub(super) fn restored(registered: Vec<(NexusName, u64)>, held: Option<(ReserveType, NexusName)>) -> Option<Self> {
        let known = |wwpn| registered.iter().filter(|(known, _)| *known == wwpn).count();
        let keys = registered.iter().all(|(wwpn, key)| *key != 0 && known(*wwpn) == 1);
        let holder = held.is_none_or(|(kind, wwpn)| if kind.all() { !registered.is_empty() } else { known(wwpn) == 1 });
        if !keys || !holder || registered.len() > MAX_REGISTRATIONS {
            return None;
        }
        let registered = registered.into_iter().map(|(who, key)| Registration { who, key }).collect();
        Some(Self { generation: 0, registered, held, persist: true })
    }

    fn key(&self, who: NexusName) -> Option<u64> {
        self.registered.iter().find(|known| known.who == who).map(|known| known.key)
    }

    fn is_holder(&self, who: NexusName) -> bool {
        self.held.is_some_and(|(kind, holder)| if kind.all() { self.key(who).is_some() } else { holder == who })
    }

    /// PERSISTENT RESERVE IN (SPC-4, clause 6.15): appends the requested data to `to`. A unit with a keeper `keeps` it.
    pub(super) fn report(&self, action: u8, keeps: bool, to: &mut Vec<u8>) {
        if action == 2 {
            // REPORT CAPABILITIES: all six types, neither SPEC_I_PT nor ALL_TG_PT; PTPL_C and PTPL_A.
            return to.extend([0, 8, u8::from(keeps), 0x80 | u8::from(self.persist), 0xea, 0x01, 0, 0]);
        }
        to.extend(self.generation.to_be_bytes());
        to.extend([0; 4]);
        let start = to.len();
        match action {
            0 => self.registered.iter().for_each(|known| to.extend(known.key.to_be_bytes())),
            1 => {
                if let Some((kind, holder)) = self.held {
                    let key = if kind.all() { 0 } else { self.key(holder).unwrap_or(0) };
                    to.extend(key.to_be_bytes());
                    to.extend([0, 0, 0, 0, 0, kind.code(), 0, 0]);
                }
            }
            _ => {
                for known in &self.registered {
                    let held = self.held.filter(|_| self.is_holder(known.who));
                    to.extend(known.key.to_be_bytes());
                    to.extend([0, 0, 0, 0, u8::from(held.is_some()), held.map_or(0, |(kind, _)| kind.code())]);
                    // The relative target port, and a TransportID of Fibre Channel (SPC-4, clause 7.6.4.2).
                    to.extend([0; 4]);
                    to.extend(known.who.port.saturating_add(1).to_be_bytes());
                    to.extend([0, 0, 0, 24]);
                    to.extend([0; 8]);
                    to.extend(known.who.wwpn.0.to_be_bytes());
                    to.extend([0; 8]);
                }
            }
        }
        put_list_len(to, start - 4, start);
    }

    /// PERSISTENT RESERVE OUT (SPC-4, clause 6.16) by `who`.
    pub(super) fn act(
        &mut self,
        who: NexusName,
        service: u8,
        scope: u8,
        code: u8,
        list: &ReserveParameters,
        keeps: bool,
    ) -> Result<Effects, Response> {
        if matches!(service, action::REGISTER | action::REGISTER_AND_IGNORE) {
            return self.register(who, service == action::REGISTER_AND_IGNORE, list, keeps);
        }
        // Clause 5.13.1: the other actions require a registration, with the right key.
        if self.key(who) != Some(list.key) {
            return Err(Response::status(Response::RESERVATION_CONFLICT));
        }
        if service == action::CLEAR {
            return Ok(self.clear(who));
        }
        if scope != 0 {
            return Err(Response::invalid_field(2, Some(7)));
        }
        let Some(kind) = ReserveType::from_code(code) else {
            return Err(Response::invalid_field(2, Some(3)));
        };
        match service {
            action::RESERVE => self.reserve(who, kind),
            action::RELEASE => self.release(who, kind),
            action::PREEMPT | action::PREEMPT_AND_ABORT => {
                let mut effects = self.preempt(who, kind, list.action_key)?;
                if service == action::PREEMPT {
                    effects.aborted.clear();
                }
                Ok(effects)
            }
            _ => Err(Response::invalid_field(1, Some(4))),
        }
    }

    /// REGISTER, and REGISTER AND IGNORE EXISTING KEY (clause 5.13.7).
    fn register(
        &mut self,
        who: NexusName,
        ignore: bool,
        list: &ReserveParameters,
        keeps: bool,
    ) -> Result<Effects, Response> {
        for (bit, set) in [(3, list.named_initiators), (2, list.all_ports), (0, list.persist && !keeps)] {
            if set {
                return Err(Response::check(&Sense::invalid_parameter(20, Some(bit))));
            }
        }
        let old = self.key(who);
        if !ignore && old.unwrap_or(0) != list.key {
            return Err(Response::status(Response::RESERVATION_CONFLICT));
        }
        if old.is_none() && list.action_key != 0 && self.registered.len() >= MAX_REGISTRATIONS {
            return Err(Response::illegal(asc::REGISTRATION_RESOURCES));
        }
        // The last registration decides for all (SPC-4, clause 6.16.3).
        self.persist = list.persist;
        match (old, list.action_key) {
            (None, 0) => return Ok(Effects::default()),
            (None, key) => {
                self.registered.push(Registration { who, key });
            }
            (Some(_), 0) => {
                self.generation = self.generation.wrapping_add(1);
                return Ok(self.unregister(who));
            }
            (Some(_), key) => {
                self.registered.iter_mut().filter(|known| known.who == who).for_each(|known| known.key = key);
            }
        }
        self.generation = self.generation.wrapping_add(1);
        Ok(Effects::default())
    }

    /// Clause 5.13.11.3: unregistering a holder ends its reservation; if all registrants hold it, unregistering the
    /// last one does.
    fn unregister(&mut self, who: NexusName) -> Effects {
        let held =
            self.held.filter(|(kind, holder)| if kind.all() { self.registered.len() == 1 } else { *holder == who });
        self.registered.retain(|known| known.who != who);
        match held {
            Some((kind, _)) => {
                self.held = None;
                self.released(who, kind)
            }
            None => Effects::default(),
        }
    }

    /// Notifies the other registrants that a reservation was released, if its type was for registrants.
    fn released(&self, who: NexusName, kind: ReserveType) -> Effects {
        let told = self.registered.iter().filter(|known| known.who != who && kind.registrants());
        let told = told.map(|known| (known.who, Attentions::RESERVATIONS_RELEASED)).collect();
        Effects { told, aborted: Vec::new() }
    }

    /// RESERVE (clause 5.13.9).
    fn reserve(&mut self, who: NexusName, kind: ReserveType) -> Result<Effects, Response> {
        match self.held {
            None => self.held = Some((kind, who)),
            // A holder may repeat its reservation.
            Some((held, _)) if held == kind && self.is_holder(who) => {}
            Some(_) => return Err(Response::status(Response::RESERVATION_CONFLICT)),
        }
        Ok(Effects::default())
    }

    /// RELEASE (clause 5.13.11.2).
    fn release(&mut self, who: NexusName, kind: ReserveType) -> Result<Effects, Response> {
        match self.held {
            Some((held, _)) if self.is_holder(who) => {
                if held != kind {
                    return Err(Response::illegal(asc::INVALID_RELEASE));
                }
                self.held = None;
                Ok(self.released(who, kind))
            }
            // RELEASE by a port that holds no reservation is no error.
            _ => Ok(Effects::default()),
        }
    }

    /// CLEAR (clause 5.13.11.6).
    fn clear(&mut self, who: NexusName) -> Effects {
        let told = self.registered.iter().filter(|known| known.who != who);
        let told = told.map(|known| (known.who, Attentions::RESERVATIONS_PREEMPTED)).collect();
        self.registered.clear();
        self.held = None;
        self.generation = self.generation.wrapping_add(1);
        Effects { told, aborted: Vec::new() }
    }

    /// PREEMPT, with or without ABORT (clauses 5.13.11.4 and 5.13.11.5).
    fn preempt(&mut self, who: NexusName, kind: ReserveType, key: u64) -> Result<Effects, Response> {
        let (all, takes) = match self.held {
            // If all registrants hold the reservation, key zero names all others.
            Some((held, _)) if held.all() => (key == 0, key == 0),
            Some((_, holder)) => (false, self.key(holder) == Some(key)),
            None => (false, false),
        };
        if key == 0 && !all {
            return Err(Response::check(&Sense::invalid_parameter(8, None)));
        }
        let removed: Vec<_> = self.registered.iter().filter(|known| all || known.key == key).copied().collect();
        if removed.is_empty() && !takes {
            return Err(Response::status(Response::RESERVATION_CONFLICT));
        }
        let gone = |known: &Registration| known.who != who && removed.contains(known);
        let mut effects = Effects {
            told: removed
                .iter()
                .filter(|known| known.who != who)
                .map(|known| (known.who, Attentions::REGISTRATIONS_PREEMPTED))
                .collect(),
            aborted: removed.iter().map(|known| known.who).filter(|wwpn| *wwpn != who).collect(),
        };
        self.registered.retain(|known| !gone(known));
        if takes {
            let old = self.held.replace((kind, who));
            // The remaining registrants are notified if the type changes.
            if let Some((old, _)) = old.filter(|(old, _)| *old != kind) {
                effects.told.extend(self.released(who, old).told);
            }
        }
        self.generation = self.generation.wrapping_add(1);
        Ok(effects)
    }
}
