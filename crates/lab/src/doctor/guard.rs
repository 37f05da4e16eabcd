//! Changes that may cut the way by which their maker came. Their undo file has a name of its own until somebody confirms them, and a
//! process that waits takes them back if nobody does.

use super::finding::Risk;
use super::fix::Step;
use super::knob::Knob;
use super::peer::speaks_arp;
use super::undo::{self, TakenBack, UNCONFIRMED, folder};
use linerate_host::adapter::{Interface, Source, interfaces, routes};
use linerate_host::tunables::Target;
use linerate_host::{Echo, Rtnetlink, claims};
use linerate_result::Timestamp;
use linerate_rt::Stop;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Beginning of those that nobody has confirmed in time.
const REFUSED: &str = "refused-";
/// Time for an answer, and between two looks.
const ANSWER: Duration = Duration::from_millis(500);
const LOOKS: Duration = Duration::from_millis(200);
/// Time in which a link goes or comes.
const SETTLES: Duration = Duration::from_secs(1);
/// `SIGHUP`: the terminal is gone, which is what such a process waits for.
const HANGUP: u8 = 1;

/// The way to whom one must not lose.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    /// The interfaces that it goes by, those that they stand on, and those that stand on them.
    pub interfaces: BTreeSet<String>,
    /// Routers, the other end of the session, and the peer, as far as they answer.
    pub answering: Vec<IpAddr>,
    asked: Vec<IpAddr>,
}

/// Address of the other end of the session over ssh in which this process or one above it was started: sudo(8) takes it out of the
/// environment.
fn session() -> Option<IpAddr> {
    let of = |text: &str| text.split_whitespace().next()?.split('%').next()?.parse().ok();
    if let Ok(own) = std::env::var("SSH_CONNECTION") {
        return of(&own);
    }
    let mut id = std::process::id().to_string();
    // More ancestors than anybody has.
    for _ in 0..64 {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        id = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.to_owned();
        let environment = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        let found = environment.split(|byte| *byte == 0).find_map(|one| one.strip_prefix(b"SSH_CONNECTION="));
        if let Some(found) = found {
            return of(&String::from_utf8_lossy(found));
        }
    }
    None
}

/// Adds the interfaces that these stand on, and those that stand on them.
fn related(all: &[Interface], ways: &mut BTreeSet<u32>) {
    loop {
        let is = |one: &Option<u32>| one.is_some_and(|index| ways.contains(&index));
        let of = |one: &&Interface| is(&one.master) || is(&one.lower) && one.kind.as_deref() != Some("veth");
        let above: Vec<u32> = all.iter().filter(of).map(|one| one.index).collect();
        let own = all.iter().filter(|one| ways.contains(&one.index) && one.kind.as_deref() != Some("veth"));
        let below = own.flat_map(|one| [one.master, one.lower]).flatten();
        let found: Vec<u32> = above.into_iter().chain(below).filter(|index| !ways.contains(index)).collect();
        if found.is_empty() {
            return;
        }
        ways.extend(found);
    }
}

impl Guard {
    /// The guard that steps need: none if they touch no interface by which the session or the default route goes, and set nothing
    /// that lets packets pass.
    pub fn of(source: &mut dyn Source, steps: &[Step], peer: Option<IpAddr>) -> Option<Self> {
        let all = interfaces(source).unwrap_or_default();
        let session = session();
        let mut asked: Vec<IpAddr> = session.into_iter().chain(peer).collect();
        let mut ways = BTreeSet::new();
        for route in routes(source).unwrap_or_default().iter().filter(|one| one.to.1 == 0 && one.kind == "unicast") {
            let hops = route.hops.iter().copied().chain(route.link.map(|link| (link, route.gateway)));
            for (link, gateway) in hops {
                ways.insert(link);
                asked.extend(gateway);
            }
        }
        if let (Some(session), Ok(mut links)) = (session, Rtnetlink::open()) {
            ways.extend(links.path_to(session).ok().map(|path| path.index));
        }
        related(&all, &mut ways);
        let named = all.iter().filter(|one| ways.contains(&one.index)).map(|one| one.name.clone());
        let interfaces: BTreeSet<String> = named.collect();
        let touches = |knob: &Knob| match knob {
            Knob::Setting { interface, .. } => knob.risk() > Risk::Safe && interfaces.contains(interface),
            Knob::File(_) => knob.risk() == Risk::Security,
        };
        if interfaces.is_empty() || !steps.iter().flat_map(|step| &step.mends).any(|mend| touches(&mend.knob)) {
            return None;
        }
        asked.sort();
        asked.dedup();
        let answering = asked.iter().copied().filter(|address| answers(*address, &all)).collect();
        Some(Self { interfaces, answering, asked })
    }

    /// Those that answered and do so no longer, when so much time has passed. A link that goes may take a moment to do so: none are
    /// lost if all answer twice, with a second before each.
    pub fn lost(&self, source: &mut dyn Source, within: Duration, stop: &Stop) -> Vec<IpAddr> {
        let (began, mut twice) = (Instant::now(), false);
        loop {
            super::examine::wait(SETTLES, stop);
            let all = interfaces(source).unwrap_or_default();
            let lost: Vec<IpAddr> = self.answering.iter().copied().filter(|address| !answers(*address, &all)).collect();
            let is_well = lost.is_empty();
            if is_well && twice || stop.asked() || !is_well && began.elapsed() > within {
                return lost;
            }
            twice = is_well;
        }
    }

    /// Sentence about those whose answers show that the way is there.
    #[must_use]
    pub fn words(&self) -> String {
        let list = |all: &[IpAddr]| all.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(", ");
        match (&self.answering[..], &self.asked[..]) {
            ([], []) => "nobody is known whose answers show that the way here is still there".to_owned(),
            ([], asked) => {
                format!("{} did not answer before, so nothing shows that the way here is still there", list(asked))
            }
            (answering, _) => format!("{} answered before, and must do so afterwards", list(answering)),
        }
    }
}

/// True if a host answers an echo request, or, at a link, ARP.
fn answers(address: IpAddr, all: &[Interface]) -> bool {
    let echo = Echo::open(address).is_ok_and(|mut echo| matches!(echo.ask(64, ANSWER), Ok(Some(_))));
    let way = || Rtnetlink::open().ok()?.path_to(address).ok().filter(|path| path.gateway.is_none());
    let arp = || {
        let IpAddr::V4(v4) = address else { return None };
        let path = way()?;
        let own = match path.source {
            IpAddr::V4(own) => Some(own),
            IpAddr::V6(_) => None,
        };
        let mac = all.iter().find(|one| one.index == path.index).and_then(speaks_arp)?;
        claims(path.index, (mac, own), &[v4], ANSWER).ok().filter(|answers| !answers.is_empty())
    };
    echo || arp().is_some()
}

/// A name for an undo file of changes that are to be confirmed.
///
/// # Errors
/// There is no folder for it.
pub fn unconfirmed_file() -> Result<PathBuf, String> {
    Ok(folder()?.join(format!("{UNCONFIRMED}{}-{}.json", Timestamp::now().compact(), std::process::id())))
}

/// Gives a file that waits another beginning of its name: of several who do so one succeeds. True for that one.
fn renamed(file: &Path, beginning: &str) -> Result<(PathBuf, bool), String> {
    let name = file.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix(UNCONFIRMED));
    let name = name.ok_or_else(|| format!("{}: it is of no changes that wait to be confirmed", file.display()))?;
    let to = file.with_file_name(format!("{beginning}{name}"));
    match std::fs::rename(file, &to) {
        Ok(()) => Ok((to, true)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok((to, false)),
        Err(e) => Err(format!("{}: {e}", file.display())),
    }
}

/// Confirms the changes of a file, which gets its lasting name. None: they are taken back.
///
/// # Errors
/// The file cannot be given another name.
pub fn confirm(file: &Path) -> Result<Option<PathBuf>, String> {
    let (to, is_own) = renamed(file, "")?;
    Ok(Some(to).filter(|to| is_own || to.exists()))
}

/// Takes changes back that nobody has confirmed.
///
/// # Errors
/// One line about the file.
pub fn refuse(target: &mut dyn Target, file: &Path) -> Result<TakenBack, String> {
    let (file, is_own) = renamed(file, REFUSED)?;
    if !is_own {
        return Ok(TakenBack::default());
    }
    let back = undo::undo(target, &file)?;
    if back.left.is_empty() {
        let _ = std::fs::remove_file(file);
    }
    Ok(back)
}

/// Waits until changes are confirmed, and takes them back if that takes too long, or if the machine ends this process.
///
/// # Errors
/// One line about the file.
pub fn wait(target: &mut dyn Target, file: &Path, within: Duration, stop: &Stop) -> Result<(), String> {
    let began = Instant::now();
    let is_ended = || stop.asked() && stop.signal() != Some(HANGUP);
    while began.elapsed() < within && !is_ended() {
        if !file.exists() {
            return Ok(());
        }
        std::thread::sleep(LOOKS);
    }
    refuse(target, file).map(drop)
}

/// Undo files of this start and network namespace whose changes wait for a confirmation.
///
/// # Errors
/// The folder cannot be read.
pub fn waiting() -> Result<Vec<PathBuf>, String> {
    undo::named(UNCONFIRMED)
}
