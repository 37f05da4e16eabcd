//! Interrupts, and how deep processors sleep between them.

use super::link::downs;
use crate::doctor::finding::{Finding, Load, Risk, Severity};
use crate::doctor::rule::{Found, HOST, INTERFACE, Look, Proof, Rule, healthy};
use crate::doctor::view::{View, have, processors};
use linerate_host::adapter::Irq;
use linerate_host::tunables::Value;
use std::collections::BTreeSet;

pub(super) const RULES: &[Rule] = &[
    INTERFACE.by("irqs-on-one-core", irqs_on_one_core).risk(Risk::Safe).proof(Proof::Stream),
    INTERFACE.by("irq-far", irq_far).risk(Risk::Safe).proof(Proof::Stream),
    INTERFACE.by("irqbalance", irqbalance),
    INTERFACE.by("coalesce-lazy", coalesce_lazy).risk(Risk::Safe).proof(Proof::Requests),
    INTERFACE.by("coalesce-eager", coalesce_eager).risk(Risk::Safe).proof(Proof::Stream),
    INTERFACE.by("eee", eee).risk(Risk::Traffic).proof(Proof::Requests),
    HOST.looks(
        "busy-poll",
        Look::Sysctl(
            "net.core.busy_read",
            [1, u64::MAX],
            50,
            &[Load::Udp, Load::Fcoe],
            0,
            "requests that take some microseconds less, for a processor that polls",
        ),
    )
    .risk(Risk::Safe)
    .proof(Proof::Requests),
    HOST.by("governor", governor).risk(Risk::Safe).proof(Proof::Requests),
    HOST.by("idle-states", idle_states).proof(Proof::Requests),
];

/// Processors on which an interrupt comes: those of its affinity, or else the one on which nearly all of it was counted.
fn comes_on(irq: &Irq) -> BTreeSet<u32> {
    if let Ok(list) = &irq.effective {
        return processors(list);
    }
    let all = irq.came.iter().fold(0_u64, |sum, (_, times)| sum.saturating_add(*times));
    let most = irq.came.first().filter(|(_, times)| times.saturating_mul(100) >= all.saturating_mul(99));
    most.map(|(core, _)| *core).into_iter().collect()
}

/// File that shows that.
fn shown(irqs: &[&Irq]) -> &'static str {
    match irqs.iter().any(|irq| irq.effective.is_ok()) {
        true => "/proc/irq/N/effective_affinity_list",
        false => "/proc/interrupts",
    }
}

fn irqs_on_one_core(view: &View<'_>) -> Found {
    let irqs = have(&view.adapter.irqs)?;
    let queues: Vec<_> =
        irqs.iter().filter(|irq| !irq.queues.is_empty() && irq.count.is_some_and(|count| count > 0)).collect();
    let cores = view.online()?.len();
    let sets: Vec<_> = queues.iter().map(|irq| comes_on(irq)).collect();
    let Some(first) = sets.first().filter(|first| first.len() == 1 && sets.len() > 1 && cores > 1) else {
        return healthy();
    };
    if sets.iter().any(|set| set != first) {
        return healthy();
    }
    let core = first.iter().next().copied().unwrap_or_default();
    let numbers: Vec<String> = queues.iter().map(|irq| irq.number.to_string()).collect();
    let first =
        Finding::new(Severity::Warning, format!("all {} interrupts of its queues come on CPU {core}", sets.len()));
    // In turn, as many as there are.
    let cores = view.online()?;
    let each = numbers.iter().zip(cores.iter().cycle());
    each.fold(first, |one, (irq, core)| one.writes(format!("proc/irq/{irq}/smp_affinity_list"), core.to_string()))
        .seen(format!("interrupts {} on CPU {core}", numbers.join(", ")), shown(&queues))
        .mend("one core each: echo CPU > /proc/irq/N/smp_affinity_list (with irqbalance stopped)")
        .gain("as many cores as queues")
        .alone()
}

fn irq_far(view: &View<'_>) -> Found {
    let device = have(&view.adapter.device)?;
    have(&device.node)?;
    let near = processors(have(&device.near)?);
    let irqs = have(&view.adapter.irqs)?;
    let is_far = |irq: &&Irq| {
        let on = comes_on(irq);
        !irq.queues.is_empty() && !on.is_empty() && on.is_disjoint(&near)
    };
    let all = irqs.iter().filter(|irq| !irq.queues.is_empty()).count();
    let irqs: Vec<&Irq> = irqs.iter().filter(is_far).collect();
    let far: Vec<String> = irqs.iter().map(|irq| irq.number.to_string()).collect();
    if far.is_empty() || near.is_empty() {
        return healthy();
    }
    let list = device.near.as_deref().unwrap_or_default();
    // Some of more queues than there are processors near it are far by need.
    let by_need = all > near.len() && far.len() * 2 <= all;
    let severity = if by_need { Severity::Note } else { Severity::Warning };
    let first =
        Finding::new(severity, format!("{} of its {all} interrupts come on processors of another node", far.len()));
    let near = |finding: Finding, irq: &String| finding.writes(format!("proc/irq/{irq}/smp_affinity_list"), list);
    far.iter()
        .fold(first, near)
        .seen(
            format!("interrupts {}; near are CPUs {list}", far.join(", ")),
            format!("{}, local_cpulist", shown(&irqs)),
        )
        .mend(format!("echo {list} > /proc/irq/N/smp_affinity_list, for each"))
        .alone()
}

fn irqbalance(view: &View<'_>) -> Found {
    let irqs = have(&view.adapter.irqs)?;
    let queues: Vec<_> = irqs.iter().filter(|irq| !irq.queues.is_empty()).collect();
    let is_tied = |list: &str| processors(list).len() == 1;
    let tied = queues.iter().all(|irq| irq.wanted.as_ref().is_ok_and(|list| is_tied(list)));
    if queues.is_empty() || !tied || view.online()?.len() < 2 {
        return healthy();
    }
    let mut processes =
        view.names("proc").into_iter().filter(|name| name.bytes().all(|b| b.is_ascii_digit())).peekable();
    processes.peek().ok_or("/proc shows no process")?;
    let comm = |process: &String| view.file(&format!("proc/{process}/comm")).unwrap_or_default();
    let Some(process) = processes.find(|process| comm(process) == "irqbalance") else { return healthy() };
    let banned = banned(&view.file(&format!("proc/{process}/cmdline")).unwrap_or_default());
    let left: Vec<u32> = queues.iter().map(|irq| irq.number).filter(|number| !banned.contains(number)).collect();
    if left.is_empty() {
        return healthy();
    }
    let words = |form: fn(&u32) -> String| left.iter().map(form).collect::<Vec<_>>();
    Finding::new(Severity::Note, "its interrupts are tied to one processor each, and irqbalance may move them")
        .seen(
            format!("interrupts {} on one processor each", words(u32::to_string).join(", ")),
            "/proc/irq/N/smp_affinity_list",
        )
        .seen(format!("process {process} is irqbalance"), format!("/proc/{process}/comm"))
        .mend(format!(
            "systemctl disable --now irqbalance, or start it with {}",
            words(|number| format!("--banirq={number}")).join(" ")
        ))
        .gain("they stay where they were put")
        .alone()
}

/// Interrupts that its command line forbids it to move.
fn banned(line: &str) -> Vec<u32> {
    let words: Vec<&str> = line.split('\0').collect();
    let behind = words.windows(2).filter(|pair| ["-i", "--banirq"].contains(&pair[0])).map(|pair| pair[1]);
    let within = words.iter().filter_map(|word| word.strip_prefix("--banirq=").or_else(|| word.strip_prefix("-i")));
    within.chain(behind).filter_map(|number| number.parse().ok()).collect()
}

fn coalesce_lazy(view: &View<'_>) -> Found {
    let coalesce = have(&view.adapter.coalesce)?;
    let Some(usecs) = coalesce.get("rx-usecs").filter(|usecs| *usecs > 100) else { return healthy() };
    if coalesce.get("adaptive-rx") == Some(1) {
        return healthy();
    }
    let (name, typed) = (view.name(), view.typed());
    Finding::new(
        if usecs >= 1000 { Severity::Warning } else { view.graver_for(&[Load::Tcp, Load::Udp, Load::Fcoe]) },
        format!("interrupts are held back for {usecs} us"),
    )
    .seen(format!("rx-usecs {usecs}, adaptive-rx off"), format!("ethtool -c {typed}"))
    .mend(format!("ethtool -C {typed} rx-usecs 20, or adaptive-rx on"))
    .sets(name, "rx-usecs", Value::Number(20))
    .gain(format!("requests that take up to {} us less", 2 * usecs))
    .alone()
}

fn coalesce_eager(view: &View<'_>) -> Found {
    let coalesce = have(&view.adapter.coalesce)?;
    let eager = coalesce.get("rx-usecs") == Some(0) && coalesce.get("rx-frames").is_some_and(|frames| frames <= 1);
    // A virtual adapter's driver masks its interrupts while it polls.
    if !eager || coalesce.get("adaptive-rx") == Some(1) || view.speed().is_none_or(|speed| speed < 10_000) {
        return healthy();
    }
    let (name, typed) = (view.name(), view.typed());
    Finding::new(Severity::Note, "each frame may interrupt")
        .seen("rx-usecs 0, rx-frames 1, adaptive-rx off", format!("ethtool -c {typed}"))
        .mend(format!("ethtool -C {typed} rx-usecs 20, or adaptive-rx on"))
        .sets(name, "rx-usecs", Value::Number(20))
        .alone()
}

fn eee(view: &View<'_>) -> Found {
    let eee = have(&view.adapter.eee)?;
    if eee.active != Some(true) {
        return healthy();
    }
    let (name, typed) = (view.name(), view.typed());
    // Some pairs of adapters lose the link when one of them sleeps.
    let downs = downs(view);
    let (severity, what) = match downs {
        0..=5 => (Severity::Note, "energy-efficient Ethernet is active".to_owned()),
        _ => (Severity::Warning, format!("energy-efficient Ethernet is active, and the link went {downs} times")),
    };
    let first = Finding::new(severity, what).seen("EEE active", format!("ethtool --show-eee {typed}"));
    let first = if downs > 5 { first.seen(format!("{downs} lines of a link that went"), "dmesg") } else { first };
    first
        .mend(format!("ethtool --set-eee {typed} eee off"))
        .sets(name, "eee", Value::On(false))
        .gain("up to 17 us less for a frame after a pause")
        .alone()
}

fn governor(view: &View<'_>) -> Found {
    let path = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
    let clock = |file| view.number::<u64>(&format!("sys/devices/system/cpu/cpu0/cpufreq/{file}")).ok();
    if let (Some(now), Some(most)) = (clock("scaling_max_freq"), clock("cpuinfo_max_freq"))
        && now < most / 4 * 3
    {
        let file = |core| format!("sys/devices/system/cpu/cpu{core}/cpufreq/scaling_max_freq");
        let what = format!("processors are held to {} MHz, and could have {}", now / 1000, most / 1000);
        let first = Finding::new(Severity::Warning, what);
        let all = view.online().unwrap_or_default();
        return all
            .iter()
            .fold(first, |finding, core| finding.writes(file(core), most.to_string()))
            .seen(format!("scaling_max_freq {now} of {most}"), "cpupower frequency-info")
            .meaning("somebody, or a profile for saving power, has set the most: each packet takes as much longer")
            .mend(format!("cpupower frequency-set -u {}MHz", most / 1000))
            .alone();
    }
    let now = view.file(path)?;
    if now == "performance" {
        return healthy();
    }
    // That of acpi-cpufreq keeps them at their least, whatever comes; those of processors that choose by themselves do not.
    let driver = view.file("sys/devices/system/cpu/cpu0/cpufreq/scaling_driver").unwrap_or_default();
    let least = ["acpi-cpufreq", "intel_cpufreq", "amd-pstate", "cppc_cpufreq", "pcc-cpufreq"];
    let severity =
        if now == "powersave" && least.contains(&driver.as_str()) { Severity::Warning } else { Severity::Note };
    let first = Finding::new(severity, format!("processors follow the governor {now}"));
    let file = |core| format!("sys/devices/system/cpu/cpu{core}/cpufreq/scaling_governor");
    let online = view.online()?;
    online
        .iter()
        .fold(first, |finding, core| finding.writes(file(core), "performance"))
        .seen(now, format!("/{path}"))
        .mend("cpupower frequency-set -g performance")
        .alone()
}

fn idle_states(view: &View<'_>) -> Found {
    let at = "sys/devices/system/cpu/cpu0/cpuidle";
    let states = view.names(at);
    if states.is_empty() {
        return view.lacks(format!("/{at}: it is not there"));
    }
    let deep = states.into_iter().filter_map(|state| {
        let latency: u64 = view.number(&format!("{at}/{state}/latency")).ok()?;
        let off: u64 = view.number(&format!("{at}/{state}/disable")).unwrap_or(0);
        (latency > 100 && off == 0).then_some((state, latency))
    });
    let Some((state, latency)) = deep.max_by_key(|(_, latency)| *latency) else { return healthy() };
    Finding::new(Severity::Note, format!("processors may sleep so deep that they wake in {latency} us"))
        .seen(format!("{state} latency {latency}"), format!("/{at}/{state}/latency"))
        .mend("cpupower idle-set -D 50, or intel_idle.max_cstate=1 on the kernel's command line")
        .alone()
}
