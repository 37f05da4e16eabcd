//! Data Center Bridging: settings of both ends, and what makes a lossless priority lose frames or stand still.

use crate::doctor::finding::{Finding, Risk, Severity};
use crate::doctor::rule::{Found, INTERFACE, Proof, Rule, healthy};
use crate::doctor::view::View;
use linerate_host::adapter::{App, Dcb, Ets, Pfc};
use linerate_host::tunables::Value;
use linerate_load::{Headroom, Span};

pub(super) const RULES: &[Rule] = &[
    INTERFACE.by("dcb-ends", ends),
    INTERFACE.by("dcb-willing", willing),
    INTERFACE.by("dcb-share", share),
    INTERFACE.by("dcb-headroom", headroom),
    INTERFACE.by("dcb-fcoe", fcoe).risk(Risk::Traffic),
    INTERFACE.by("dcb-pauses", pauses).proof(Proof::Look),
];

/// EtherType of FCoE.
const FCOE: u16 = 0x8906;
/// Number of ETS's algorithm.
const ETS: u8 = 2;
/// Bits for which the longest pause stops a priority: 65535 quanta.
const LONGEST: u64 = 65_535 * 512;
/// Pauses between two readings that are usual.
const FEW: u64 = 5;

/// Settings that the driver tells; none if it offers no DCB.
pub(super) fn of<'a>(view: &'a View<'_>) -> Result<Option<&'a Dcb>, String> {
    match &view.adapter.dcb {
        Ok(dcb) => Ok(Some(dcb)),
        Err(absent) if absent.errno == Some(95) => Ok(None),
        Err(absent) => Err(absent.to_string()),
    }
}

/// Numbers of a set of priorities, as a text.
fn set(bits: u8) -> String {
    let all: Vec<String> = (0..8).filter(|prio| bits >> prio & 1 != 0).map(|prio| prio.to_string()).collect();
    if all.is_empty() { "none".to_owned() } else { all.join(" ") }
}

/// Lossless priorities with the classes that they are in.
fn lossless(dcb: &Dcb) -> impl Iterator<Item = usize> + '_ {
    (0..8).filter(|prio| dcb.pfc.as_ref().is_some_and(|pfc| pfc.enabled >> prio & 1 != 0))
}

fn differs(ours: &Ets, theirs: &Ets) -> bool {
    (ours.prio_tc, ours.tc_tsa, ours.tc_bw) != (theirs.prio_tc, theirs.tc_tsa, theirs.tc_bw)
}

fn ends(view: &View<'_>) -> Found {
    let Some(dcb) = of(view)? else { return healthy() };
    let (typed, peer, mut found) = (view.typed(), &dcb.peer, Vec::new());
    if let (Some(ours), Some(theirs)) = (&dcb.pfc, &peer.pfc)
        && ours.enabled != theirs.enabled
    {
        let words: Vec<String> = (0..8)
            .filter(|prio| (ours.enabled ^ theirs.enabled) >> prio & 1 != 0)
            .map(|prio| format!("{prio}:{}", if theirs.enabled >> prio & 1 != 0 { "on" } else { "off" }))
            .collect();
        let what =
            format!("lossless priorities are {} here, and {} at the peer", set(ours.enabled), set(theirs.enabled));
        found.push(
            Finding::new(Severity::Warning, what)
                .seen(
                    format!("prio-pfc {} here, {} there", set(ours.enabled), set(theirs.enabled)),
                    format!("dcb pfc show dev {typed}"),
                )
                .mend(format!("dcb pfc set dev {typed} prio-pfc {}, or the peer as this end", words.join(" "))),
        );
    }
    for app in &dcb.app {
        let other = |one: &&App| one.key() == app.key() && one.priority != app.priority;
        let same = |one: &App| one == app;
        if let Some(theirs) = peer.app.iter().find(other).filter(|_| !peer.app.iter().any(same)) {
            found.push(
                Finding::new(
                    Severity::Warning,
                    format!("an application has priority {} here, and {} at the peer", app.priority, theirs.priority),
                )
                .seen(format!("{app} here, {theirs} there"), format!("dcb app show dev {typed}"))
                .mend(format!("dcb app replace dev {typed} with the peer's words, or the peer as this end")),
            );
        }
    }
    if let (Some(ours), Some(theirs)) = (&dcb.ets, &peer.ets)
        && differs(ours, theirs)
    {
        // Each end may send as it will; what one expects of the other is not known.
        found.push(
            Finding::new(Severity::Note, "traffic classes of the ends are not the same")
                .seen("prio-tc, tc-tsa or tc-bw differ", format!("dcb ets show dev {typed}"))
                .mend("nothing, if it is meant so; otherwise set one end as the other"),
        );
    }
    Ok(found)
}

fn willing(view: &View<'_>) -> Found {
    let Some(dcb) = of(view)? else { return healthy() };
    let (Some(ours), Some(theirs)) = (&dcb.ets, &dcb.peer.ets) else { return healthy() };
    let differ = differs(ours, theirs)
        || matches!((&dcb.pfc, &dcb.peer.pfc), (Some(ours), Some(theirs)) if ours.enabled != theirs.enabled);
    let (severity, what, mend) = match (ours.willing, theirs.willing) {
        (true, true) => (Severity::Note, "both ends are willing", "off, at the end whose settings are to count"),
        (false, false) if differ => {
            (Severity::Warning, "no end is willing, and they differ", "on, at the end that is to follow")
        }
        _ => return healthy(),
    };
    let typed = view.typed();
    Finding::new(severity, what)
        .seen(format!("willing {} here, {} there", ours.willing, theirs.willing), format!("dcb ets show dev {typed}"))
        .mend(format!("dcb ets set dev {typed} willing {mend}"))
        .alone()
}

fn share(view: &View<'_>) -> Found {
    let Some(dcb) = of(view)? else { return healthy() };
    let Some(ets) = &dcb.ets else { return healthy() };
    let typed = view.typed();
    let starved = lossless(dcb).filter_map(|prio| {
        let class = ets.prio_tc[prio];
        let at = usize::from(class);
        let none = ets.tc_tsa.get(at) == Some(&ETS) && ets.tc_bw.get(at) == Some(&0);
        none.then(|| {
            Finding::new(Severity::Warning, format!("priority {prio} is lossless, and its class {class} has no share"))
                .seen(
                    format!("prio-tc {prio}:{class}, tc-tsa {class}:ets, tc-bw {class}:0"),
                    format!("dcb ets show dev {typed}"),
                )
                .mend(format!("dcb ets set dev {typed} tc-bw {class}:50, and less for others: they sum to 100"))
        })
    });
    Ok(starved.collect())
}

fn headroom(view: &View<'_>) -> Found {
    let Some(dcb) = of(view)? else { return healthy() };
    let Some(pfc) = dcb.pfc.as_ref().filter(|pfc| pfc.enabled != 0) else { return healthy() };
    let speed = view.speed().ok_or("the speed of the link is not known")?;
    let mtu = view.interface().mtu.ok_or("the MTU is not known")?;
    // The cable is not known, so it has no length; the header of a frame with a tag has 18 bytes.
    let span = Span { rate: u64::from(speed) * 1_000_000, metres: 0 };
    let needed = Headroom::new(&span, usize::try_from(mtu).map_err(|_| "the MTU is not known")?.saturating_add(18));
    let (typed, bytes, mut found) = (view.typed(), needed.bytes(), Vec::new());
    if let Some(buffer) = &dcb.buffer {
        for prio in lossless(dcb) {
            let at = buffer.prio_buffer[prio];
            let size = u64::from(buffer.buffer_size.get(usize::from(at)).copied().unwrap_or(0));
            if size >= bytes {
                continue;
            }
            let what =
                format!("priority {prio} is lossless with {size} bytes; {bytes} may come after a pause at MTU {mtu}");
            found.push(
                Finding::new(Severity::Warning, what)
                    .seen(
                        format!("prio-buffer {prio}:{at}, buffer-size {at}:{size}"),
                        format!("dcb buffer show dev {typed}"),
                    )
                    .mend(format!(
                        "dcb buffer set dev {typed} buffer-size {at}:{}K, or more for a long cable",
                        bytes.div_ceil(1024)
                    )),
            );
        }
    }
    // The pause frame, and the neighbour's response; 0 leaves it to the driver, and long responses are no delay that it could have.
    let of_delay = |(name, _): &&(&str, u64)| ["pause frame", "response of the neighbour"].contains(name);
    let least = 8 * needed.terms.iter().filter(of_delay).map(|(_, bytes)| bytes).sum::<u64>();
    if pfc.delay != 0 && u64::from(pfc.delay) < least && least <= u64::from(u16::MAX) {
        found.push(
            Finding::new(
                Severity::Warning,
                format!("the link is allowed {} bits; a neighbour stops after {least}", pfc.delay),
            )
            .seen(format!("delay {}", pfc.delay), format!("dcb pfc show dev {typed}"))
            .mend(format!(
                "dcb pfc set dev {typed} delay {least}, or more for a long cable; 0 leaves it to the driver"
            )),
        );
    }
    Ok(found)
}

fn fcoe(view: &View<'_>) -> Found {
    let Some(dcb) = of(view)? else { return healthy() };
    let Some(pfc) = &dcb.pfc else { return healthy() };
    let lossy = |prio: u8| pfc.enabled.checked_shr(prio.into()).unwrap_or(0) & 1 == 0;
    let Some(app) = dcb.app.iter().find(|app| app.key() == (1, FCOE) && lossy(app.priority)) else { return healthy() };
    let (name, typed, prio) = (view.name(), view.typed(), app.priority);
    let on = |at: u8| if at == prio || !lossy(at) { "on" } else { "off" };
    let map: Vec<String> = (0..8).map(|at| format!("{at}:{}", on(at))).collect();
    Finding::new(Severity::Error, format!("FCoE has priority {prio}, which may lose frames"))
        .seen(format!("{app}, prio-pfc {prio}:off"), format!("dcb app show dev {typed}, dcb pfc show dev {typed}"))
        .mend(format!("dcb pfc set dev {typed} prio-pfc {prio}:on"))
        .sets(name, "prio-pfc", Value::Text(map.join(",")))
        .alone()
}

fn pauses(view: &View<'_>) -> Found {
    if of(view)?.is_none() {
        return healthy();
    }
    // Half a second lies between the readings.
    let most = view.speed().map(|speed| (u64::from(speed) * 500_000 / LONGEST).max(1));
    let (read, mut found) = (format!("dcb -s pfc show dev {}", view.typed()), Vec::new());
    for prio in 0..8 {
        for (name, who) in Pfc::names(prio).iter().zip(["this end", "the neighbour"]) {
            let Some(one) = view.counted(name).pop() else { continue };
            let storm = who == "the neighbour" && most.is_some_and(|most| one.more > FEW && one.more >= most);
            let (severity, what) = match () {
                () if storm => {
                    (Severity::Warning, format!("pauses come so fast that priority {prio} may stand still: a storm"))
                }
                () if one.more > FEW => {
                    (Severity::Note, format!("{who} pauses priority {prio}, {} times now", one.more))
                }
                () if view.is_once() => {
                    (Severity::Note, format!("{who} has paused priority {prio} since the interface was made"))
                }
                () => continue,
            };
            let mend = match who {
                "this end" => "find what is slow here: more queues, larger rings",
                _ if storm => {
                    "find what stops taking frames at the neighbour; a watchdog there ends it (linerate switch --pfc-watchdog)"
                }
                _ => "find what is slow at the neighbour, or behind it",
            };
            found.push(
                Finding::new(severity, what)
                    .seen(format!("{name} {} (+{} while it was looked at)", one.value, one.more), read.clone())
                    .mend(mend),
            );
        }
    }
    Ok(found)
}
