//! What a result says in a few words: its headline, its verdict, and sums over its tests.

use linerate_load::result::{Environment, Outcome, PortUsed, Role, RunResult, Test, unit};

use crate::{quantity, sweep};

/// The test with the highest median packet rate; of equal ones the one that stands beside a published figure.
pub(crate) fn best_rate(run: &RunResult) -> Option<(&Test, f64)> {
    let rate = |test: &Test| test.value.as_ref().filter(|value| value.unit == unit::PPS)?.median.known();
    let compared = |test: &Test| run.comparisons.iter().any(|comparison| comparison.test == test.id);
    let rates = run.tests.iter().filter_map(|test| Some((test, rate(test)?)));
    rates.max_by(|a, b| a.1.total_cmp(&b.1).then(compared(a.0).cmp(&compared(b.0))))
}

/// The run in one line: the highest rate and the ports it was measured on; of a sweep how much of it is done and how far it
/// is from the published figures.
pub(crate) fn headline(run: &RunResult) -> String {
    match best_rate(run) {
        Some((test, rate)) => {
            let ports = route(&test.ports);
            let rate = quantity::value(rate.into(), unit::PPS);
            if ports.is_empty() { rate } else { format!("{rate}, {ports}") }
        }
        None if let Some(glance) = sweep::glance(run).filter(|glance| glance.done > 0) => {
            glance.range().into_iter().chain([glance.about()]).collect::<Vec<_>>().join(" ")
        }
        None if run.tests.iter().any(|test| !test.stages.is_empty()) => "Nanoseconds, stage by stage".to_owned(),
        None if run.tests.iter().any(|test| test.value.is_some()) => "No packet rate was measured".to_owned(),
        None => "Nothing was measured".to_owned(),
    }
}

/// `a, b → c`: who sent to whom, as typed.
pub(crate) fn route(ports: &[PortUsed]) -> String {
    let names = |wanted: &[Role]| {
        ports
            .iter()
            .filter(|port| wanted.contains(&port.role))
            .map(|port| port.name.as_str())
            .collect::<Vec<_>>()
            .join(", ")
    };
    match (names(&[Role::Tx]), names(&[Role::Rx]), names(&[Role::Both])) {
        (tx, rx, both) if both.is_empty() && !tx.is_empty() && !rx.is_empty() => format!("{tx} → {rx}"),
        (tx, rx, both) => [tx, both, rx].into_iter().filter(|names| !names.is_empty()).collect::<Vec<_>>().join(" ↔ "),
    }
}

/// What the outcome means.
pub(crate) fn verdict(run: &RunResult) -> String {
    let sentence = match run.outcome {
        Outcome::Pass => "Every test ran and every gate held.",
        Outcome::Failed => "A test failed.",
        Outcome::Gate => "Every test ran, but a gate or comparison was not met.",
        Outcome::Partial => "Some tests did not run to their end.",
    };
    match run.signal {
        Some(signal) => format!("{sentence} Signal {signal} ended the run early."),
        None => sentence.to_owned(),
    }
}

/// Unexplained frames over all ledgers; `None` when no test kept one that was counted.
pub(crate) fn unexplained(run: &RunResult) -> Option<u64> {
    let frames = run.tests.iter().filter_map(|test| test.ledger.as_ref()?.settle().frames());
    frames.reduce(u64::saturating_add)
}

/// Frames received over all ledgers.
pub(crate) fn received(run: &RunResult) -> u64 {
    let frames = run.tests.iter().filter_map(|test| test.ledger.as_ref()?.received);
    frames.fold(0, u64::saturating_add)
}

/// Ports that got the same path and shape.
pub(crate) struct Alike<'a> {
    /// Their names as typed, each once, in order of first use.
    pub(crate) names: Vec<&'a str>,
    pub(crate) path: &'a str,
    pub(crate) shape: String,
}

/// The ports, gathered by what they really are.
pub(crate) fn ports<'a>(ports: impl Iterator<Item = &'a PortUsed>) -> Vec<Alike<'a>> {
    let mut list: Vec<Alike<'a>> = Vec::new();
    for port in ports {
        let shape = port_shape(port);
        match list.iter_mut().find(|alike| alike.path == port.path && alike.shape == shape) {
            Some(alike) if alike.names.contains(&port.name.as_str()) => {}
            Some(alike) => alike.names.push(&port.name),
            None => list.push(Alike { names: vec![&port.name], path: &port.path, shape }),
        }
    }
    list
}

/// MTU and queues of a port: `MTU 1500, queues 4 tx 4 rx`.
fn port_shape(port: &PortUsed) -> String {
    let mtu = port.mtu.map(|mtu| format!("MTU {mtu}"));
    let queues = port.queues.map(|queues| format!("queues {} tx {} rx", queues.tx, queues.rx));
    [mtu, queues].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The machine's facts with their names, those that are known.
pub(crate) fn machine(environment: &Environment) -> Vec<(&'static str, String)> {
    let pages = environment.huge_pages_2m.map(|pages| format!("{} of {} free", pages.free, pages.total));
    [
        ("CPU", environment.cpu.clone()),
        ("Cores", environment.cores.map(|cores| cores.to_string())),
        ("Memory", environment.memory_bytes.map(quantity::memory)),
        ("2 MiB pages", pages),
        ("Hypervisor", environment.hypervisor.clone()),
        ("Kernel", environment.kernel.clone()),
        ("System", environment.os.clone()),
        ("linerate", environment.linerate.clone()),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value?)))
    .collect()
}

#[cfg(test)]
mod tests {
    use linerate_load::result::{PortUsed, Role};

    use super::{ports, route};

    #[test]
    fn ports_are_gathered_by_what_they_are() {
        let port =
            |name: &str, path: &str| PortUsed { name: name.to_owned(), path: path.to_owned(), ..PortUsed::default() };
        let list = [port("a", "x"), port("b", "x"), port("a", "x"), port("a", "y")];
        let found: Vec<_> = ports(list.iter()).into_iter().map(|alike| (alike.names, alike.path)).collect();
        assert_eq!(found, [(vec!["a", "b"], "x"), (vec!["a"], "y")]);
    }

    #[test]
    fn routes_read_from_sender_to_receiver() {
        let port = |name: &str, role| PortUsed { name: name.to_owned(), role, ..PortUsed::default() };
        assert_eq!(route(&[port("b", Role::Rx), port("a", Role::Tx), port("c", Role::Tx)]), "a, c → b");
        assert_eq!(route(&[port("a", Role::Both), port("b", Role::Both)]), "a, b");
        assert_eq!(route(&[port("a", Role::Tx)]), "a");
        assert_eq!(route(&[]), "");
    }
}
