//! All interfaces in one list, by a fixed number of questions to the kernel.

use super::source::{self, Question, Source};
use super::{Interface, Xdp, device, interfaces, modes, queues, shown, xdp};
use crate::absent::{Absent, Part, part};
use crate::netlink::message::{attribute, word};
use serde::Serialize;
use std::collections::BTreeMap;

/// A row of a list of interfaces.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    pub interface: Interface,
    pub driver: Option<String>,
    /// PCI address of its device, or what its bus calls it.
    pub place: Option<String>,
    /// Mb/s.
    pub speed: Option<u32>,
    /// Queues in use: for both ways, or the greater number of one way.
    pub queues: Option<u64>,
    #[serde(serialize_with = "part")]
    pub xdp: Part<Xdp>,
}

/// All interfaces, with what fits into a table: a fixed number of questions, however many there are.
pub fn list(source: &mut dyn Source) -> Part<Vec<Row>> {
    let interfaces = interfaces(source)?;
    let speeds = indexed(source, Question::LinkModes, |answer| modes::modes(answer).speed);
    let channels = indexed(source, Question::Channels, |answer| {
        let all = queues::channels(answer);
        let now = |name| all.iter().find(|one| one.name == name).and_then(|one| one.now).unwrap_or(0);
        Some(now("combined").saturating_add(now("rx").max(now("tx")))).filter(|count| *count != 0)
    });
    let xdp: Part<BTreeMap<u32, Xdp>> =
        source.ask(Question::Xdp, None).map(|all| all.iter().filter_map(|answer| xdp::parse(answer).ok()).collect());
    let row = |interface: Interface| Row {
        driver: in_sysfs(source, &interface, |source, name| {
            source::end(source, &format!("sys/class/net/{name}/device/driver")).ok()
        }),
        place: in_sysfs(source, &interface, device::place).or_else(|| interface.device.clone()),
        speed: speeds.get(&interface.index).copied(),
        queues: channels
            .get(&interface.index)
            .copied()
            .or_else(|| interface.queues.iter().flatten().max().map(|n| u64::from(*n))),
        xdp: xdp.as_ref().map_err(Absent::clone).and_then(|all| {
            all.get(&interface.index).cloned().ok_or_else(|| Absent::told("the kernel does not list it"))
        }),
        interface,
    };
    Ok(interfaces.into_iter().map(row).collect())
}

/// Facts of sysfs about an interface's device, if it has one and shows it.
fn in_sysfs(
    source: &dyn Source,
    interface: &Interface,
    get: impl Fn(&dyn Source, &str) -> Option<String>,
) -> Option<String> {
    interface.device.as_ref()?;
    shown(source, interface).ok()?;
    get(source, &interface.name)
}

/// Values of a list of ethtool's answers, by the index of their interface.
fn indexed<T>(source: &mut dyn Source, question: Question, value: impl Fn(&[u8]) -> Option<T>) -> BTreeMap<u32, T> {
    let answers = source.ask(question, None).unwrap_or_default();
    let one = |answer: &Vec<u8>| {
        let index = attribute(attribute(answer, 1)?, 1).map(|index| word(index, 0))?;
        Some((index, value(answer)?))
    };
    answers.iter().filter_map(one).collect()
}
