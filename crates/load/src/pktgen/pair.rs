//! Two pkt-gens at once, as where two ports of an adapter are measured together.

use super::workload;
use crate::workload::{Job, ParameterRow, Workload, nothing_needed};
use linerate_result::{Parameters, Unit};
use linerate_rt::Stop;

/// Flags of the ports, and what the second pkt-gen has instead.
const PORTS: [(&str, &str); 2] = [("-i", "second"), ("--to", "second-to")];

/// Two pkt-gens with the same flags, each on ports of its own.
pub const PAIR: Workload = Workload::new(
    ("pkt-gen-pair", "two pkt-gens at once, on ports of their own: the sum of their rates"),
    parameters,
    nothing_needed,
    &[("rate", Unit::Pps)],
    prepare,
);

fn parameters() -> Vec<ParameterRow> {
    let mut rows = workload::parameters();
    for (flag, name) in PORTS {
        let Some(row) = rows.iter().find(|row| row.name == flag) else { continue };
        let about = format!("{flag} of the second pkt-gen");
        rows.push(ParameterRow { name: name.to_owned(), value: row.value.clone(), about });
    }
    rows
}

fn prepare(all: &Parameters) -> Result<Job, String> {
    let (mut one, mut two) = (all.clone(), all.clone());
    for (flag, name) in PORTS {
        one.remove(name);
        two.remove(flag);
        if let Some(port) = two.remove(name) {
            two.insert(flag.to_owned(), port);
        }
    }
    if !two.contains_key("-i") {
        return Err("second: name the port of the second pkt-gen".to_owned());
    }
    let (one, two) = (workload::ready(&one)?, workload::ready(&two)?);
    Ok(Job::new(format!("{} and {}", one.does(), two.does()), move |stop: &Stop| {
        let (one, two) = std::thread::scope(|scope| {
            let two = scope.spawn(|| two.run(stop));
            (one.run(stop), two.join())
        });
        let mut both = one?;
        both.beside(two.map_err(|_| "a measurement panicked".to_owned())??);
        if let Some(unit) = both.value.as_ref().map(|value| value.unit.clone()) {
            both.summarize(unit);
        }
        Ok(both)
    }))
}
