//! Names of the units that initiators know by their LUNs, so that none takes another unit for the one before.

use super::attention::Attentions;
use super::name::Naa;
use super::unit::Unit;
use linerate_wire::Wwn;
use std::collections::HashMap;

/// Most names that are kept.
const MOST: usize = 1 << 14;

/// Name of the unit that each initiator was last shown under each LUN, whether it is logged in now or not.
#[derive(Debug, Default)]
pub(super) struct Met {
    names: HashMap<(Wwn, u16), Naa>,
}

impl Met {
    /// Records that an initiator knows this unit. When there is no more room, all other initiators are forgotten.
    pub(super) fn learn(&mut self, wwpn: Wwn, unit: &Unit) {
        if self.names.len() >= MOST {
            self.names.retain(|(known, _), _| *known == wwpn);
        }
        self.names.insert((wwpn, unit.lun), unit.name.naa().clone());
    }

    /// Hides a unit from an initiator, or shows it: as unmet, if the initiator knows another one by this LUN.
    pub(super) fn show(&mut self, wwpn: Wwn, unit: &Unit, hidden: bool, attentions: &mut Attentions) {
        attentions.hide(hidden);
        if hidden {
            return;
        }
        match self.names.get(&(wwpn, unit.lun)) {
            Some(known) if known != unit.name.naa() => attentions.add(Attentions::UNMET),
            Some(_) => {}
            None => self.learn(wwpn, unit),
        }
    }
}
