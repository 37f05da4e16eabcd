//! Wrappers: layers around the queues of any kind of port. Each is one file and one row; a row's key is an option of
//! every kind. A port without such an option is unchanged.

mod dice;
mod faults;
mod trace;

pub use faults::{FaultPlan, Planned};

use crate::error::OpenError;
use crate::info::{Filter, Link};
use crate::kind::{Demand, OptionRow, Spec};
use crate::port::{Device, Parts};
use linerate_ring::Region;
use std::sync::Arc;

/// One wrapper.
pub struct Wrapper {
    /// Option that selects the wrapper.
    pub option: OptionRow,
    /// Computes the port's demand for memory with the wrapper; checks the option's value.
    pub(crate) demand: fn(&Spec, Demand) -> Result<Demand, OpenError>,
    /// Wraps an opened port.
    pub(crate) wrap: fn(&Spec, &Arc<Region>, Parts) -> Result<Parts, OpenError>,
}

/// All wrappers, from the innermost outwards: the trace shows the frames that faults left.
pub static WRAPPERS: &[Wrapper] = &[trace::WRAPPER, faults::WRAPPER];

fn asked<'a>(spec: &'a Spec) -> impl Iterator<Item = &'static Wrapper> + 'a {
    WRAPPERS.iter().filter(|wrapper| spec.option(wrapper.option.key).is_some())
}

/// Memory demand of a port with its wrappers.
pub(crate) fn demand(spec: &Spec, kind: Demand) -> Result<Demand, OpenError> {
    asked(spec).try_fold(kind, |demand, wrapper| (wrapper.demand)(spec, demand))
}

/// Puts the requested wrappers around a port.
pub(crate) fn wrap(spec: &Spec, region: &Arc<Region>, parts: Parts) -> Result<Parts, OpenError> {
    asked(spec).try_fold(parts, |parts, wrapper| (wrapper.wrap)(spec, region, parts))
}

/// Counters and errors of a wrapper, shown beside the port's.
trait Tells: Send + Sync {
    fn counters(&self) -> Vec<(String, u64)>;

    fn trouble(&self) -> Option<String> {
        None
    }
}

/// Device of a wrapped port: the port's own device and the wrapper.
struct Beside<T> {
    inner: Box<dyn Device>,
    own: Arc<T>,
}

impl<T: Tells> Device for Beside<T> {
    fn link(&self) -> Link {
        self.inner.link()
    }

    fn mtu(&self) -> Option<usize> {
        self.inner.mtu()
    }

    fn filter(&self, filter: &Filter) -> Result<(), String> {
        self.inner.filter(filter)
    }

    fn notes(&self) -> Vec<String> {
        self.inner.notes()
    }

    fn raw_counters(&self) -> Vec<(String, u64)> {
        let mut all = self.inner.raw_counters();
        all.extend(self.own.counters());
        all
    }

    fn trouble(&self) -> Option<String> {
        self.inner.trouble().or_else(|| self.own.trouble())
    }
}
