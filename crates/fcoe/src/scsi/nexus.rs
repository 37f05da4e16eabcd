//! I_T nexuses: logged-in initiators, the units that each sees, and its pending unit attentions.

use super::attention::Attentions;
use super::buffers::Echo;
use super::unit::{Presence, Unit};
use crate::PeerId;
use linerate_wire::Wwn;

/// Name of an I_T nexus, whenever its initiator logs in: the initiator's port, and the target's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NexusName {
    pub(super) wwpn: Wwn,
    /// Number of the target's port, from 0.
    pub(super) port: u16,
}

/// An I_T nexus.
#[derive(Debug)]
pub(super) struct Nexus {
    pub(super) id: PeerId,
    pub(super) name: NexusName,
    /// Pending attentions, by unit. A hidden unit has [`Attentions::HIDDEN`].
    pub(super) units: Vec<Attentions>,
    pub(super) echo: Echo,
}

impl Nexus {
    pub(super) fn new(id: PeerId, name: NexusName, units: Vec<Attentions>) -> Self {
        Self { id, name, units, echo: Echo::default() }
    }
}

/// All nexuses, by place.
#[derive(Debug, Default)]
pub(super) struct Nexuses {
    places: Vec<Option<Nexus>>,
}

impl Nexuses {
    pub(super) fn insert(&mut self, nexus: Nexus) {
        let place = usize::from(nexus.id.index);
        if self.places.len() <= place {
            self.places.resize_with(place + 1, || None);
        }
        self.places[place] = Some(nexus);
    }

    pub(super) fn remove(&mut self, id: PeerId) {
        if self.get_mut(id).is_some() {
            self.places[usize::from(id.index)] = None;
        }
    }

    /// Name of a nexus; nobody's if it is unknown.
    pub(super) fn name(&self, id: PeerId) -> NexusName {
        self.get(id).map_or(NexusName { wwpn: Wwn(0), port: 0 }, |nexus| nexus.name)
    }

    pub(super) fn get(&self, id: PeerId) -> Option<&Nexus> {
        self.places.get(usize::from(id.index))?.as_ref().filter(|nexus| nexus.id == id)
    }

    pub(super) fn get_mut(&mut self, id: PeerId) -> Option<&mut Nexus> {
        self.places.get_mut(usize::from(id.index))?.as_mut().filter(|nexus| nexus.id == id)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Nexus> {
        self.places.iter_mut().flatten()
    }
}

/// Mapping of initiators to the units that they see.
///
/// Without any rule every initiator sees every unit. From the first rule on, only initiators that a rule names see
/// units, each the units of its rules.
#[derive(Debug, Default)]
pub(super) struct Mask {
    rules: Vec<(Wwn, u16)>,
    /// There is a rule.
    named: bool,
}

impl Mask {
    /// Lets `wwpn` see these LUNs, besides those of earlier rules.
    pub(super) fn allow(&mut self, wwpn: Wwn, luns: &[u16]) {
        self.named = true;
        for lun in luns {
            if !self.rules.contains(&(wwpn, *lun)) {
                self.rules.push((wwpn, *lun));
            }
        }
    }

    /// Replaces all rules.
    pub(super) fn replace(&mut self, rules: &[(Wwn, Vec<u16>)]) {
        self.rules.clear();
        rules.iter().for_each(|(wwpn, luns)| self.allow(*wwpn, luns));
        // An initiator that is named without LUNs sees none, and hides them from all others.
        self.named = !rules.is_empty();
    }

    /// True if an initiator is shown a unit.
    pub(super) fn shows(&self, wwpn: Wwn, unit: &Unit) -> bool {
        unit.presence == Presence::Here && self.sees(wwpn, unit.lun)
    }

    fn sees(&self, wwpn: Wwn, lun: u16) -> bool {
        !self.named || self.rules.contains(&(wwpn, lun))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_sees_all_until_somebody_is_named() {
        let mut mask = Mask::default();
        assert!(mask.sees(Wwn(1), 0) && mask.sees(Wwn(2), 300));
        mask.allow(Wwn(1), &[0, 7]);
        mask.allow(Wwn(1), &[8, 7]);
        let seen = |wwpn| (0..10).filter(|lun| mask.sees(Wwn(wwpn), *lun)).collect::<Vec<_>>();
        assert_eq!((seen(1), seen(2)), (vec![0, 7, 8], vec![]));
    }

    #[test]
    fn a_place_given_to_another_is_not_the_old_one() {
        let id = |generation| PeerId { index: 3, generation };
        let name = |wwpn| NexusName { wwpn: Wwn(wwpn), port: 0 };
        let mut nexuses = Nexuses::default();
        nexuses.insert(Nexus::new(id(1), name(1), Vec::new()));
        nexuses.insert(Nexus::new(id(2), name(2), Vec::new()));
        nexuses.remove(id(1));
        assert!(nexuses.get(id(1)).is_none());
        assert_eq!(nexuses.get(id(2)).unwrap().name, name(2));
        nexuses.remove(id(2));
        assert_eq!(nexuses.iter_mut().count(), 0);
    }
}
