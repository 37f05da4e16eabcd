//! Contents of a neighbour's DCBX TLVs. One that is discarded leaves what the neighbour's last good one said.

use crate::cee::{self, HeardCee};
use crate::counters::{Counters, TlvDrop};
use crate::ieee::{self, HeardIeee};
use crate::settings::Classes;
use linerate_wire::{DcbxEts, DcbxPfc, LldpCongestion, LldpTlv, Lldpdu};

/// DCBX of a neighbour, in each version that it speaks, and what its settings are beside.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Heard {
    /// IEEE's.
    pub ieee: Option<HeardIeee>,
    /// CEE's.
    pub cee: Option<HeardCee>,
    /// Congestion notification.
    pub congestion: Option<LldpCongestion>,
}

/// Contents of a data unit beside DCBX.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Described {
    pub(crate) system: Option<String>,
    pub(crate) port: Option<String>,
}

/// TLVs of which a unit has one at most, by name, and those that it had.
#[derive(Default)]
struct Once(Vec<&'static str>);

impl Once {
    fn first(&mut self, what: &'static str) -> Result<(), (&'static str, TlvDrop)> {
        if self.0.contains(&what) {
            return Err((what, TlvDrop::Duplicate));
        }
        self.0.push(what);
        Ok(())
    }
}

impl Heard {
    /// True if the neighbour speaks DCBX.
    #[must_use]
    pub const fn is_dcbx(&self) -> bool {
        self.ieee.is_some() || self.cee.is_some()
    }

    /// Contents of a unit, after what its sender's last one said; `refused` is told each TLV that is discarded.
    pub(crate) fn read(
        &self,
        unit: &Lldpdu<'_>,
        counters: &mut Counters,
        mut refused: impl FnMut(&'static str, TlvDrop),
    ) -> (Self, Described) {
        let (mut next, mut described, mut once) = (Self::default(), Described::default(), Once::default());
        let mut whole = true;
        for tlv in unit.tlvs() {
            let outcome = match tlv {
                Err(_) => Err(("a TLV", TlvDrop::Malformed)),
                Ok(LldpTlv::Organization { .. } | LldpTlv::Reserved { .. }) => {
                    counters.tlvs_unrecognized += 1;
                    Ok(())
                }
                Ok(tlv) => next.tlv(tlv, &mut described, &mut once),
            };
            if let Err((what, reason)) = outcome {
                whole = false;
                counters.tlvs_discarded.add(reason, 1);
                refused(what, reason);
            }
        }
        if !whole {
            next.fill(self);
        }
        (next, described)
    }

    fn tlv(
        &mut self,
        tlv: LldpTlv<'_>,
        described: &mut Described,
        once: &mut Once,
    ) -> Result<(), (&'static str, TlvDrop)> {
        match tlv {
            LldpTlv::EtsConfiguration(DcbxEts { willing, classes, .. }) => {
                once.first("ETS configuration")?;
                let configuration = &mut self.ieee.get_or_insert_default().configuration;
                *configuration = Some((willing, of("ETS configuration", Classes::from_wire(&classes))?));
            }
            LldpTlv::EtsRecommendation(classes) => {
                once.first("ETS recommendation")?;
                let recommendation = &mut self.ieee.get_or_insert_default().recommendation;
                *recommendation = Some(of("ETS recommendation", Classes::from_wire(&classes))?);
            }
            LldpTlv::Pfc(DcbxPfc { willing, enabled, .. }) => {
                once.first("PFC")?;
                self.ieee.get_or_insert_default().pfc = Some((willing, enabled));
            }
            LldpTlv::Applications(entries) => {
                once.first("applications")?;
                let applications = &mut self.ieee.get_or_insert_default().applications;
                *applications = Some(of("applications", ieee::applications(&entries))?);
            }
            LldpTlv::Cee(tlv) => {
                once.first("CEE")?;
                self.cee = Some(of("CEE", cee::heard(&tlv))?);
            }
            LldpTlv::Congestion(congestion) => {
                once.first("congestion notification")?;
                self.congestion = Some(congestion);
            }
            LldpTlv::SystemName(name) => {
                once.first("system name")?;
                described.system = Some(String::from_utf8_lossy(name).into_owned());
            }
            LldpTlv::PortDescription(text) => {
                once.first("port description")?;
                described.port = Some(String::from_utf8_lossy(text).into_owned());
            }
            _ => {}
        }
        Ok(())
    }

    /// Puts what the last unit said where this one says nothing, because something of it was discarded.
    fn fill(&mut self, last: &Self) {
        if let Some(last) = &last.ieee {
            let ieee = self.ieee.get_or_insert_default();
            ieee.configuration = ieee.configuration.or(last.configuration);
            ieee.recommendation = ieee.recommendation.or(last.recommendation);
            ieee.pfc = ieee.pfc.or(last.pfc);
            ieee.applications = ieee.applications.take().or_else(|| last.applications.clone());
        }
        self.cee = self.cee.take().or_else(|| last.cee.clone());
        self.congestion = self.congestion.or(last.congestion);
    }
}

/// Names the TLV of a reason.
fn of<T>(what: &'static str, read: Result<T, TlvDrop>) -> Result<T, (&'static str, TlvDrop)> {
    read.map_err(|reason| (what, reason))
}
