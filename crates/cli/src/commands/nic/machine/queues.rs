//! Rows of `nic show` about queues, rings, interrupts, and the processors that serve them.

use super::super::layout::Layout;
use linerate_host::adapter::{Adapter, Amount, Irq, Rows, Steering};

/// Names and numbers.
pub(super) fn rows(rows: &Rows) -> String {
    rows.iter().map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
}

fn amounts(out: &mut Layout, what: &str, amounts: &[Amount]) {
    let shown = |number: Option<u64>| number.map_or_else(|| "?".to_owned(), |number| number.to_string());
    for one in amounts.iter().filter(|one| one.most != Some(0)) {
        out.row(&format!("{what} {}", one.name), &format!("{} of {}", shown(one.now), shown(one.most)));
    }
}

/// Rows of queues and interrupts.
pub(super) fn show(out: &mut Layout, adapter: &Adapter) {
    out.group("queues");
    amounts(out, "queues", adapter.channels.as_deref().unwrap_or_default());
    if let Ok(rings) = &adapter.rings {
        amounts(out, "ring", &rings.sizes);
        out.maybe("ring settings", Some(rows(&rings.settings)));
    }
    out.maybe("moderation", adapter.coalesce.as_ref().ok().map(rows));
    served(out, adapter);
    adapter
        .steering
        .as_deref()
        .unwrap_or_default()
        .iter()
        .for_each(|one| out.maybe(&format!("{} tied to", one.queue), steering(one)));
    out.group("interrupts");
    adapter.irqs.as_deref().unwrap_or_default().iter().for_each(|one| out.row(&one.number.to_string(), &irq(one)));
}

/// Queues, and what serves them: as the kernel says, or else as the names of interrupts say.
fn served(out: &mut Layout, adapter: &Adapter) {
    let irqs = adapter.irqs.as_deref().unwrap_or_default();
    let on = |irq: &Irq| match &irq.effective {
        Ok(cpus) => format!(" on CPU {cpus}"),
        Err(_) => String::new(),
    };
    let told = adapter.queues.as_deref().unwrap_or_default();
    for queue in told {
        let by_name = || irqs.iter().find(|irq| irq.queues.contains(&queue.name));
        let irq = match queue.irq {
            Some(number) => irqs.iter().find(|irq| irq.number == number),
            None => by_name(),
        };
        let number = queue.irq.or_else(|| irq.map(|irq| irq.number));
        let parts = [
            queue.napi.map(|napi| format!("NAPI {napi}")),
            number.map(|number| format!("interrupt {number}{}", irq.map(on).unwrap_or_default())),
            queue.thread.map(|thread| format!("thread {thread}")),
        ];
        out.maybe(&queue.name, Some(parts.into_iter().flatten().collect::<Vec<_>>().join(", ")));
    }
    if told.is_empty() {
        for irq in irqs.iter().filter(|irq| !irq.queues.is_empty()) {
            out.row(&irq.queues.join(", "), &format!("interrupt {}{}", irq.number, on(irq)));
        }
    }
}

/// None if nothing ties it to any processor.
fn steering(one: &Steering) -> Option<String> {
    let is_set = |mask: &&String| mask.chars().any(|c| c != '0' && c != ',');
    let cpus = one.cpus.as_ref().ok().filter(is_set).map(|mask| format!("CPUs {}", cpus(mask)));
    let by = one.by_queue.as_ref().filter(is_set).map(|mask| format!("receive-queue mask {mask}"));
    let flows = one.flows.as_ref().filter(|count| count.as_str() != "0").map(|count| format!("{count} flows"));
    let all: Vec<_> = [cpus, by, flows].into_iter().flatten().collect();
    (!all.is_empty()).then(|| all.join(", "))
}

fn irq(one: &Irq) -> String {
    let name = one.name.as_deref().unwrap_or("not in use");
    let times = one.count.map(|count| format!(", {count} times")).unwrap_or_default();
    let cpus = match (&one.effective, &one.wanted) {
        (Ok(on), Ok(may)) if on != may => format!(", CPU {on} (of {may})"),
        (Ok(on), _) | (Err(_), Ok(on)) => format!(", CPU {on}"),
        _ => String::new(),
    };
    format!("{name}{times}{cpus}")
}

/// Processors of a mask in hexadecimal (`0000ff00` is `8-15`); the mask itself if it is none.
fn cpus(mask: &str) -> String {
    let digits: Option<Vec<u32>> = mask.chars().rev().filter(|c| *c != ',').map(|c| c.to_digit(16)).collect();
    let Some(digits) = digits else { return mask.to_owned() };
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    let bits =
        digits.iter().enumerate().flat_map(|(at, digit)| (0..4).map(move |bit| (at * 4 + bit, digit >> bit & 1)));
    for (cpu, _) in bits.filter(|(_, on)| *on == 1) {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let one =
        |(first, last): &(usize, usize)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    ranges.iter().map(one).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::cpus;

    #[test]
    fn masks_are_lists_of_processors() {
        for (mask, list) in
            [("1", "0"), ("0000ff00", "8-15"), ("00000001,80000005", "0,2,31-32"), ("0", ""), ("x1", "x1")]
        {
            assert_eq!(cpus(mask), list, "{mask}");
        }
    }
}
