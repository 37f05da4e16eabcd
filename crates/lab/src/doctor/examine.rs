//! Reading the machine, or a recorded tree, and applying all rules.

use super::Examination;
use super::finding::Load;
use super::network::Network;
use super::peer::{Probed, probe};
use super::protocols::snapshot;
use super::role::{self, Role};
use super::rule::Scope;
use super::rules::RULES;
use super::side::Side;
use super::view::{View, speed};
use crate::environment;
use linerate_host::adapter::{self, Interface, Machine, Source, filter_rules, interfaces, routes};
use linerate_host::freebsd::FreebsdTexts;
use linerate_host::{Absent, kept};
use linerate_result::Environment;
use linerate_rt::Stop;
use std::net::IpAddr;
use std::path::Path;
use std::time::{Duration, Instant};

/// Time between the two readings of counters.
const BETWEEN: Duration = Duration::from_millis(500);

#[derive(Clone, Debug, Default)]
pub struct Asked<'a> {
    /// Interfaces; none: all that are up, but the loopback.
    pub names: &'a [String],
    /// Loads that they are to carry.
    pub loads: &'a [Load],
    /// Roles that it has beside those that are recognised.
    pub roles: &'a [Role],
    /// A peer whose way is probed.
    pub peer: Option<IpAddr>,
    /// The other end, as it was read there.
    pub remote: Option<&'a Side>,
    /// A recorded tree, instead of the machine.
    pub tree: Option<&'a Path>,
}

/// Examines interfaces, and the machine around them.
///
/// # Errors
/// One line: an interface that is not there, or a tree that cannot be read.
pub fn examine(asked: &Asked<'_>, stop: &Stop) -> Result<Examination, String> {
    let mut source: Box<dyn Source> = match asked.tree {
        None => Box::new(Machine::new()),
        Some(tree) => kept(tree).map_err(|e| format!("{}: {e}", tree.display()))?,
    };
    let pause = if asked.tree.is_none() { BETWEEN } else { Duration::ZERO };
    examine_of(&mut *source, asked, || wait(pause, stop), stop)
}

/// Reads all that the rules look at, for a source that records it.
///
/// # Errors
/// One line, as of [`examine`].
pub fn touch(source: &mut dyn Source, interface: &str, stop: &Stop) -> Result<(), String> {
    let names = [interface.to_owned()];
    let every = Load::ALL.map(|(_, load)| load);
    // What is read may depend on what the machine is for.
    for loads in [&[][..], &every] {
        examine_of(source, &Asked { names: &names, loads, ..Asked::default() }, || wait(BETWEEN, stop), stop)?;
    }
    Ok(())
}

/// Applies the rules of FreeBSD to a tree with what the programs of such a host print.
fn examine_freebsd(source: &dyn Source, asked: &Asked<'_>) -> Result<Examination, String> {
    let texts = FreebsdTexts::read(|name| source.file(&format!("freebsd/{name}")));
    let all = texts.interfaces.as_ref().map_err(|absent| format!("freebsd/ifconfig: {absent}"))?;
    let up = all.iter().filter(|one| one.has("UP") && !one.has("LOOPBACK"));
    let names: Vec<String> = match asked.names {
        [] => up.map(|one| one.name.clone()).collect(),
        names => names.to_vec(),
    };
    let mut examination = Examination { untaken: source.untaken(), ..Examination::default() };
    for name in names {
        let wrong = |absent: Absent| format!("{name}: {absent}; see the names in 'linerate nic list --from'");
        examination.add_freebsd(&texts.adapter(&name).map_err(wrong)?, &texts);
        examination.interfaces.push(name);
    }
    match examination.interfaces.is_empty() {
        true => Err("no interface is up; name one: see 'linerate nic list --from'".to_owned()),
        false => Ok(examination),
    }
}

/// Examines a source; `between` is called once, between the two readings of the counters.
pub(super) fn examine_of(
    source: &mut dyn Source,
    asked: &Asked<'_>,
    between: impl FnOnce(),
    stop: &Stop,
) -> Result<Examination, String> {
    if asked.tree.is_some() && source.names("freebsd").is_ok() {
        return examine_freebsd(source, asked);
    }
    // Texts of a host, of which none tells an interface, are looked at for what is about the machine.
    let tells = || ["proc", "sys", "var", "posted"].iter().any(|folder| source.names(folder).is_ok());
    let is_told = asked.tree.is_some() && asked.names.is_empty() && tells();
    let all = match interfaces(source) {
        Err(_) if is_told => Vec::new(),
        all => all.map_err(|absent| no_list(asked.tree, &absent))?,
    };
    let up = || all.iter().filter(|one| one.hardware != LOOPBACK && one.flags.contains(&"UP"));
    let recorded = asked.tree.and_then(|_| source.file("interface").ok());
    let names: Vec<String> = match asked.names {
        [] if recorded.is_some() => {
            recorded.iter().map(|name| String::from_utf8_lossy(name).trim().to_owned()).collect()
        }
        [] => up().map(|one| one.name.clone()).collect(),
        names => names.to_vec(),
    };
    let (earlier, earlier_rules) = (snapshot(source), filter_rules(source));
    // One pause for all of them.
    let mut between = Some(between);
    let mut read = Vec::new();
    for name in &names {
        if stop.asked() {
            return Err("stopped".to_owned());
        }
        let pause = between.take();
        let gone = |why: String| if asked.names.is_empty() { None } else { Some(why) };
        match View::read(source, name, || pause.into_iter().for_each(|pause| pause())) {
            Ok(one) => read.push(one),
            Err(why) => gone(why).map_or(Ok(()), Err)?,
        }
    }
    let is_alone = read.is_empty() && is_told;
    if is_alone {
        // Each host has it.
        let lo = Interface { index: 1, name: "lo".to_owned(), hardware: LOOPBACK, ..Interface::default() };
        read.push((adapter::read(source, lo), Default::default()));
    }
    // A tree does not say on which machine it was recorded.
    let environment = asked.tree.map_or_else(|| environment::read(&[]), |_| Environment::default());
    let mut probed = asked.peer.map(|peer| probe(peer, stop)).transpose()?;
    if let Some(probed) = &mut probed
        && let Some(way) = all.iter().find(|one| one.name == probed.way)
    {
        probed.ask_claims(way, &all);
        probed.ask_hops(&routes(source).unwrap_or_default(), &all);
        // What stands on an interface that is looked at is reached by that.
        let looked = |one: &&Interface| names.contains(&one.name);
        let below = |one: &Interface| one.master == Some(way.index) || way.lower == Some(one.index);
        probed.elsewhere =
            way.hardware != LOOPBACK && !all.iter().filter(looked).any(|one| one.index == way.index || below(one));
    }
    let peer = probed.as_ref().map(Probed::line);
    let remote = asked.remote.cloned().map(Box::new);
    let untaken = source.untaken();
    let mut examination = Examination { environment, peer, remote, untaken, ..Examination::default() };
    let way = probed.as_ref().map(|probed| probed.way.clone()).unwrap_or_default();
    let mut host = Some(Scope::Host);
    let network = Network::read(source, read.iter().map(|(adapter, _)| &adapter.interface), earlier_rules);
    let fastest = read.iter().filter_map(|(adapter, _)| speed(adapter)).max().unwrap_or(0);
    let mut roles = None;
    for (adapter, counters) in read {
        examination.interfaces.extend(Some(adapter.interface.name.clone()).filter(|_| !is_alone));
        let mut view = View::new(source, adapter, counters, &all, asked.loads);
        view.earlier.clone_from(&earlier);
        view.network = &network;
        view.fastest = fastest;
        view.roles.clone_from(roles.get_or_insert_with(|| role::roles(&view, asked.roles)));
        view.peer = probed.take();
        view.way.clone_from(&way);
        view.remote = asked.remote.filter(|_| view.name() == way).map(|side| side.end.clone());
        let peer = Some(Scope::Peer).filter(|_| view.peer.is_some());
        let ends = Some(Scope::Ends).filter(|_| view.remote.is_some());
        // What is about the machine is found once.
        let own = Some(Scope::Interface).filter(|_| !is_alone);
        let scopes = host.take().into_iter().chain(peer).chain(ends).chain(own);
        scopes.for_each(|scope| examination.add(&view, scope));
    }
    if asked.remote.is_some() && !way.is_empty() && !examination.interfaces.contains(&way) {
        let why = format!("it is reached by {way}, which was not named");
        let ends = RULES.iter().filter(|rule| rule.scope == Scope::Ends);
        examination.unable.extend(ends.map(|rule| ("the other end".to_owned(), rule.name.into(), why.clone())));
    }
    match examination.interfaces.is_empty() && !is_alone {
        true => Err("no interface is up; name one: see 'linerate nic list'".to_owned()),
        false => Ok(examination),
    }
}

/// The reason for which there are no interfaces, in a line with the mend.
fn no_list(tree: Option<&Path>, absent: &Absent) -> String {
    match tree.map(Path::display) {
        None => format!("the list of interfaces: {absent}"),
        Some(tree) => format!("{tree}: it has no interface ({absent}); make a tree by 'linerate nic record IF DIR'"),
    }
}

/// `ARPHRD_LOOPBACK`.
const LOOPBACK: u16 = 772;

/// Waits, unless the stop is asked for.
pub(super) fn wait(time: Duration, stop: &Stop) {
    let until = Instant::now() + time;
    while Instant::now() < until && !stop.asked() {
        std::thread::sleep(Duration::from_millis(20).min(time));
    }
}
