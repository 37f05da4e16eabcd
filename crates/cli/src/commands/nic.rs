//! `linerate nic`.

mod asked;
mod filter;
mod guests;
mod layout;
#[cfg(target_os = "linux")]
mod machine;
mod show;
mod up;
mod vi;

use super::shared::file;
use super::{Command, parsed};
use crate::print::print_told;
use crate::trouble::{Trouble, print};
use clap::{Args, CommandFactory, Parser, Subcommand};
use linerate_host::shell::word;
use linerate_load::resolve;
use linerate_nic::{ClassTable, Control, FlagError, Nic, NicConfig, NicError, Saved, SavedError, ViSettings};
use linerate_port::open;
use std::path::PathBuf;
use std::process::ExitCode;

pub(super) const COMMAND: Command = Command::by_clap("nic", Arguments::command, |matches, _| run(parsed(matches)?));

/// Adapters: capabilities, enabled flags, and where each offload is done.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// List the host's interfaces, the kinds of ports, and which of them have saved settings.
    List(List),
    /// Show an interface of the host, with all that its driver and the kernel tell; or with -i linerate's own adapter
    /// over a port: flags as ifconfig -m prints them, MTU, queues, where each offload is done, parameters.
    Show(Show),
    /// Show the counters of an interface of the host by group and queue, those that are not zero, and their rates.
    #[cfg(target_os = "linux")]
    Stats(machine::Stats),
    /// Write all that is read of an interface of the host into a directory, for others to look at: list, show, stats
    /// and doctor take it with --from.
    #[cfg(target_os = "linux")]
    Record(machine::Record),
    /// Change settings of an interface of the host (`-tso gro rx-usecs=50 ring-rx=1024 mtu=9000`), each read back; or
    /// with -i flags and parameters of linerate's own adapter over a port, which are saved for all adapters that are
    /// made over that port from then on.
    ///
    /// Names of the host's are ethtool's, the kernel's, the driver's and FreeBSD's: offloads, ring-rx, combined,
    /// channels-rx, rx-usecs, adaptive-rx, pause-rx, speed, duplex, autoneg, advertise, fec, rss (a number of queues),
    /// mtu, up, txqueuelen, those of `dcb set`, and of the whole machine net.core.rmem_max and its like. Changes stay; before and after are
    /// printed. `nic save` writes all names that an interface has.
    Set(Set),
    /// Write all settings of an interface of the host that can be set into a file.
    #[cfg(target_os = "linux")]
    Save(machine::Save),
    /// Print how the settings of an interface of the host differ from those in a file, and what cannot be compared.
    #[cfg(target_os = "linux")]
    Diff(machine::Diff),
    /// Set an interface of the host as a file says, in an order that drivers accept, and read it back.
    #[cfg(target_os = "linux")]
    Restore(machine::Restore),
    /// Run the adapter of a port until Ctrl-C, so that other programs of this user can open its virtual interfaces, as
    /// PORT/viN.
    ///
    /// A program at an interface sends from its address alone, in its VLANs, with its cap and its share of the link; it
    /// gets what is for that address, and groups. Frames between two interfaces do not leave the adapter. The last lines
    /// say for each interface what became of all frames.
    Up(up::Up),
    /// Virtual interfaces of a port's adapter: add, change, remove and list them.
    ///
    /// Changes are made at the adapter, if one runs on the port (`linerate nic up`), and saved for the next one.
    #[command(subcommand)]
    Vi(vi::Vi),
    /// Receive filters of a port's adapter: add, remove and list them, with their hits.
    ///
    /// They look at frames before addresses choose an interface; of those that match a frame the one with the lowest
    /// location counts. Changes are made at the adapter, if one runs on the port (`linerate nic up`), and saved for the
    /// next one.
    #[command(subcommand)]
    Filter(filter::Filter),
}

#[derive(Args)]
struct List {
    /// Read a tree that `nic record` wrote, and not this machine; or one of a FreeBSD host, in whose folder `freebsd` the
    /// files ifconfig, sysctl, pciconf, loader.conf and pkg have the output of `ifconfig -m`, `sysctl -a`, `pciconf
    /// -lcv`, `cat /boot/loader.conf` and `pkg info`.
    #[arg(long, value_name = "DIR", value_parser = file)]
    from: Option<PathBuf>,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Show {
    /// An interface of the host, or -i PORT for an adapter of linerate's own.
    #[arg(value_name = "NAME", required_unless_present = "i", conflicts_with = "i")]
    name: Option<String>,
    /// The port (KIND:NAME; a bare name is xdp:NAME).
    #[arg(short, value_name = "PORT")]
    i: Option<String>,
    /// Read a tree that `nic record` wrote, and not this machine; or one of a FreeBSD host, in whose folder `freebsd` the
    /// files ifconfig, sysctl, pciconf, loader.conf and pkg have the output of `ifconfig -m`, `sysctl -a`, `pciconf
    /// -lcv`, `cat /boot/loader.conf` and `pkg info`.
    #[arg(long, value_name = "DIR", value_parser = file, conflicts_with = "i")]
    from: Option<PathBuf>,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Set {
    /// The port (KIND:NAME; a bare name is xdp:NAME).
    #[arg(short, value_name = "PORT")]
    i: Option<String>,
    /// Flags by ifconfig's or ethtool's names, - before one disables it; parameters as NAME=VALUE; `default` (with -i)
    /// forgets all that was saved. Without -i the first word is an interface of the host.
    #[arg(value_name = "WORD", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

fn run(arguments: Arguments) -> Result<ExitCode, Trouble> {
    match arguments.what {
        What::List(List { from, json }) => print_told(&show::list(&Saved::load()?, from.as_deref(), json)?, json),
        What::Show(Show { name: Some(name), from, json, .. }) => {
            print_told(&of_host(&name, from.as_deref(), json)?, json);
        }
        #[cfg(target_os = "linux")]
        What::Record(arguments) => print(&machine::record(&arguments)?),
        #[cfg(target_os = "linux")]
        What::Stats(arguments) => return machine::stats(&arguments),
        What::Show(Show { i, json, .. }) => {
            let i = i.unwrap_or_default();
            let (name, remark) = resolve(&i);
            let nic = adapter(&name)?;
            let words = apply_saved(&nic.control(), &name)?;
            let text = show::adapter(&nic, &words, json);
            let remark = remark.filter(|_| !json).map(|said| said + "\n").unwrap_or_default();
            print(&(remark + &text));
        }
        What::Up(arguments) => return up::run(&arguments),
        What::Vi(what) => print(&vi::run(what)?),
        What::Filter(what) => print(&filter::run(what)?),
        What::Set(Set { i: Some(i), words }) => print(&set(&resolve(&i).0, &words)?),
        What::Set(Set { i: None, words }) => return set_host(&words),
        #[cfg(target_os = "linux")]
        What::Save(arguments) => print(&machine::save(&arguments)?),
        #[cfg(target_os = "linux")]
        What::Diff(arguments) => return machine::diff(&arguments),
        #[cfg(target_os = "linux")]
        What::Restore(arguments) => return machine::restore(&arguments),
    }
    Ok(ExitCode::SUCCESS)
}

/// Settings of an interface of the host: its name, and words.
fn set_host(words: &[String]) -> Result<ExitCode, Trouble> {
    let (name, words) = match words {
        [name, words @ ..] if !name.starts_with('-') && !name.contains('=') => (name, words),
        _ => {
            return Err(Trouble::usage(
                "NAME is missing; give an interface of the host before its settings, or -i PORT",
            ));
        }
    };
    if words.is_empty() {
        return Err(Trouble::usage(format!("{name}: SETTING is missing; give some, as -tso or mtu=9000")));
    }
    change_host(name, words)
}

#[cfg(target_os = "linux")]
pub(super) use machine::{interface, state as settings_of, told};
#[cfg(target_os = "linux")]
use machine::{set as change_host, show as of_host};

#[cfg(not(target_os = "linux"))]
fn change_host(name: &str, _: &[String]) -> Result<ExitCode, Trouble> {
    Err(Trouble::usage(format!("{name}: interfaces of the host are changed on Linux alone; give -i PORT")))
}

#[cfg(not(target_os = "linux"))]
fn of_host(name: &str, _: Option<&std::path::Path>, _: bool) -> Result<String, Trouble> {
    Err(Trouble::usage(format!("{name}: interfaces of the host are read on Linux alone; give -i PORT")))
}

/// Makes an adapter with default settings over a port.
fn adapter(port: &str) -> Result<Nic, Trouble> {
    Ok(Nic::new(open(port)?, &NicConfig::default())?)
}

/// Applies words as they are typed after `nic set`; the first that fails is named, and those before it stay in force.
fn apply(control: &Control, words: &[String]) -> Result<(), Trouble> {
    for word in words {
        match word.split_once('=') {
            Some((name, value)) => control.set_parameter(0, name, value)?,
            None => drop(control.set_flag(0, word)?),
        }
    }
    Ok(())
}

/// Applies the settings that are saved for a port to a new adapter, as every command does that makes one; returns their
/// words.
fn apply_saved(control: &Control, port: &str) -> Result<Vec<String>, Trouble> {
    let words = Saved::load()?.words(port).to_vec();
    apply(control, &words).map_err(|trouble| {
        Trouble::usage(format!("saved settings: {trouble}; or forget them: linerate nic set -i {} default", word(port)))
    })?;
    Ok(words)
}

/// Makes an adapter for a host on a port, if there are settings for it, given now or saved.
pub(super) fn for_host(port: &str, words: Option<&[String]>, interfaces: usize) -> Result<Option<Nic>, Trouble> {
    if words.is_none() && Saved::load()?.words(port).is_empty() {
        return Ok(None);
    }
    let nic = Nic::new(open(port)?, &NicConfig { interfaces, ..NicConfig::default() })?;
    apply_saved(&nic.control(), port)?;
    apply(&nic.control(), words.unwrap_or_default())?;
    Ok(Some(nic))
}

fn set(port: &str, words: &[String]) -> Result<String, Trouble> {
    let mut saved = Saved::load()?;
    let forget = words.iter().any(|word| word == "default");
    if forget && words.len() > 1 {
        let what =
            "default forgets all that was saved, and stands alone; give it first, then the others in a second set";
        return Err(Trouble::usage(what));
    }
    let nic = adapter(port)?;
    let control = nic.control();
    let fresh = Fresh { interface: control.settings(0)?, classes: control.classes() };
    let mut all = Vec::new();
    if forget {
        // Words that cannot be applied any more are forgotten as well.
        drop(apply(&control, saved.words(port)));
    } else {
        all = apply_saved(&control, port)?;
    }
    let before = state(&control);
    if forget {
        fresh.restore(&control)?;
    } else {
        apply(&control, words)?;
        all.extend_from_slice(words);
    }
    let after = state(&control);
    let kept = needed(&control, &fresh, all, &after)?;
    saved.put(port, kept.clone());
    let path = saved.store()?.display();
    let mut text = String::new();
    for ((name, was), (_, is)) in before.iter().zip(&after).filter(|(was, is)| was != is) {
        text += &format!("{name}: {was} -> {is}\n");
    }
    if before == after {
        text += "nothing changed: it is so already\n";
    }
    let what = if kept.is_empty() { "nothing but defaults".to_owned() } else { kept.join(" ") };
    let key = Saved::key(port);
    Ok(text
        + &format!(
            "saved for {key}: {what}\nin {path}; hosts on this port (stack up) begin with it; those that run already keep what they have\n"
        ))
}

/// Settings of a new adapter.
struct Fresh {
    interface: ViSettings,
    classes: ClassTable,
}

impl Fresh {
    fn restore(&self, control: &Control) -> Result<(), NicError> {
        control.set_classes(self.classes);
        control.change(0, |settings| *settings = self.interface.clone())
    }
}

/// Words that are needed: without any of them the state would differ.
fn needed(control: &Control, fresh: &Fresh, mut words: Vec<String>, wanted: &State) -> Result<Vec<String>, Trouble> {
    let mut at = 0;
    while at < words.len() {
        let mut fewer = words.clone();
        fewer.remove(at);
        fresh.restore(control)?;
        if apply(control, &fewer).is_ok() && state(control) == *wanted {
            words = fewer;
        } else {
            at += 1;
        }
    }
    Ok(words)
}

/// Flags and parameters by name.
type State = Vec<(String, String)>;

fn state(control: &Control) -> State {
    let flags = control.settings(0).map(|settings| settings.flags.enabled().to_string()).unwrap_or_default();
    let parameters = control.parameters(0).unwrap_or_default();
    let parameters = parameters.into_iter().map(|(row, actual)| (row.name.to_owned(), actual));
    std::iter::once(("options".to_owned(), flags)).chain(parameters).collect()
}

impl From<NicError> for Trouble {
    fn from(error: NicError) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<SavedError> for Trouble {
    fn from(error: SavedError) -> Self {
        match error {
            SavedError::NoHome => Self::usage(error.to_string()),
            other => Self::failed(other.to_string()),
        }
    }
}

impl From<FlagError> for Trouble {
    fn from(error: FlagError) -> Self {
        Self::usage(error.to_string())
    }
}
