//! Arguments that all of `linerate fcoe` has: a port, and the identity of the node on it.

use crate::commands::dcb;
use crate::commands::ip::{IpArguments, set_routes};
use crate::commands::shared::{rate, stop_after, stop_at_signals, wait};
use crate::print::remark;
use crate::trouble::{Trouble, print};
use clap::Args;
use linerate_dcb::{Application, Selector};
use linerate_fcoe::{AuthFailure, AuthProof, DeviceServer, Neighbour, Node, Peer, Role, SessionEnd};
use linerate_load::resolve;
use linerate_port::{Link, Spec};
use linerate_rt::fc::{FcError, FcNode, FcOptions, FcPort, WANTED, Watcher, find_vlan};
use linerate_rt::net::Options;
use linerate_rt::{Stop, WaitMode, Waiter};
use linerate_wire::{EtherType, MacAddr, Priority, VlanTag, Wwn};

/// Arguments of the node.
#[derive(Args)]
pub(super) struct NodeArguments {
    /// The port (KIND:NAME; a bare name is xdp:NAME). A target can have several: then this, --mac and --wwpn may be given
    /// more than once.
    #[arg(short, value_name = "PORT")]
    pub(super) i: Vec<String>,
    /// The ENode's MAC address; otherwise the port's own, or one that goes with the port's name on this host.
    #[arg(long, value_name = "MAC")]
    mac: Vec<MacAddr>,
    /// The port's name; otherwise 20:00: and the MAC address.
    #[arg(long, value_name = "WWN")]
    wwpn: Vec<Wwn>,
    /// The node's name; otherwise 10:00: and the MAC address.
    #[arg(long, value_name = "WWN")]
    wwnn: Option<Wwn>,
    /// The VLAN of all frames, 1 to 4094; their priority is 3. auto: the one that another station on the link tells of (FIP VLAN
    /// discovery), or none if none does within 3 s.
    #[arg(long, value_name = "VID", value_parser = vlan_or_auto)]
    vlan: Option<Vlan>,
    /// Largest number of bytes after the Ethernet header; otherwise the port's MTU. 2158 is enough for full frames.
    #[arg(long, value_name = "BYTES")]
    mtu: Option<usize>,
    /// Use VN2VN point-to-point mode: expect one other port, and fall back to multipoint mode when there are more.
    #[arg(long)]
    point_to_point: bool,
    /// Obey congestion points (QCN, IEEE 802.1Q clause 30): when switches tell the node to, it sends slower than this rate of its
    /// link in bit/s, as 10G, and faster again after a while.
    #[arg(long, value_name = "RATE", value_parser = rate)]
    qcn: Option<u64>,
    /// Wait mode of the thread.
    #[arg(long, value_name = "HOW", default_value = "adaptive", value_parser = wait())]
    pub(super) wait: WaitMode,
}

/// Default of `--pi`.
pub(super) const PROTECTION: &str = "crc";

/// Usual priority of FCoE frames, by custom and by its application TLV (IEEE 802.1Qaz).
const PRIORITY: u8 = 3;

/// FCoE and FIP with the usual priority.
pub(in crate::commands) fn applications() -> Vec<Application> {
    let usual = |protocol: EtherType| {
        let priority = Priority::new(PRIORITY).unwrap_or_default();
        Application { selector: Selector::EtherType, protocol: protocol.0, priority }
    };
    [EtherType::FCOE, EtherType::FIP].map(usual).into()
}

/// Tag of FCoE frames of a VLAN.
pub(in crate::commands) fn vlan(text: &str) -> Result<VlanTag, String> {
    let vid = text.parse().ok().filter(|vid| (1..=4094).contains(vid));
    vid.and_then(|vid| VlanTag::new(PRIORITY, false, vid).ok()).ok_or_else(|| "give 1 to 4094".to_owned())
}

/// A VLAN as it is given.
#[derive(Clone, Copy)]
enum Vlan {
    Tag(VlanTag),
    /// To be asked for.
    Auto,
}

fn vlan_or_auto(text: &str) -> Result<Vlan, String> {
    let tag = || vlan(text).map(Vlan::Tag).map_err(|mend| format!("{mend}, or auto"));
    if text == "auto" { Ok(Vlan::Auto) } else { tag() }
}

impl From<FcError> for Trouble {
    fn from(error: FcError) -> Self {
        match error {
            FcError::Open(error) => error.into(),
            FcError::Net(error) => error.into(),
            FcError::NameInUse(..) | FcError::Twin(..) => Self::failed(error.to_string()),
            other => Self::usage(other.to_string()),
        }
    }
}

impl NodeArguments {
    pub(super) fn port(&self, example: &str) -> Result<FcPort, Trouble> {
        let mut ports = self.ports(example)?;
        match (ports.pop(), ports.len()) {
            (Some(port), 0) => Ok(port),
            _ => Err(Trouble::usage("-i stands twice: only a target has several ports")),
        }
    }

    /// Opens all ports, at least one. They are of one node, whose name is made from the first port's address.
    pub(super) fn ports(&self, example: &str) -> Result<Vec<FcPort>, Trouble> {
        if self.i.is_empty() {
            return Err(Trouble::usage(format!("-i is missing: a node needs a port; give one, as {example}")));
        }
        for (name, given) in [("--mac", self.mac.len()), ("--wwpn", self.wwpn.len())] {
            if given > self.i.len() {
                return Err(Trouble::usage(format!("{name} stands {given} times: give it once for each -i")));
            }
        }
        let (mut ports, mut wwnn) = (Vec::new(), self.wwnn);
        for (number, typed) in self.i.iter().enumerate() {
            let (name, _) = resolve(typed);
            let options = FcOptions {
                mac: self.mac.get(number).copied(),
                wwpn: self.wwpn.get(number).copied(),
                wwnn,
                vlan: self.tag(number, &name)?,
                mtu: self.mtu,
                point_to_point: self.point_to_point,
                reaction: self.qcn,
            };
            let port = FcPort::open(&name, &options)?;
            wwnn = wwnn.or(Some(port.config().wwnn));
            ports.push(port);
        }
        Ok(ports)
    }
}

impl NodeArguments {
    /// The tag of the frames of a port: the one given, or the one that others tell of.
    fn tag(&self, number: usize, name: &str) -> Result<Option<VlanTag>, Trouble> {
        match self.vlan {
            None => Ok(None),
            Some(Vlan::Tag(tag)) => Ok(Some(tag)),
            Some(Vlan::Auto) => {
                let (port, mac) = (Spec::parse(name)?.wanting_mtu(WANTED).open()?, self.mac.get(number).copied());
                if port.link() != Link::Up {
                    remark(&format!("{name}: the link is down: the VLAN is asked for once it is up"));
                }
                let mut waiter = Waiter::new(self.wait);
                // Signals end the process: there is nothing to be put back.
                let stop = Stop::new().map_err(|e| Trouble::failed(e.to_string()))?;
                let told = find_vlan(port, mac, &mut waiter, &stop)?;
                let line = match &told[..] {
                    [] => "nobody tells of a VLAN (FIP): frames have no tag".to_owned(),
                    [(vid, who)] => format!("VLAN {vid}, told by {who} (FIP)"),
                    several => {
                        let all: Vec<_> = several.iter().map(|(vid, who)| format!("{vid} by {who}")).collect();
                        let all = all.join(", ");
                        return Err(Trouble::usage(format!(
                            "{name}: several VLANs are told (FIP): {all}; give one, as --vlan {}",
                            told[0].0
                        )));
                    }
                };
                remark(&format!("{name}: {line}"));
                Ok(told.first().and_then(|(vid, _)| VlanTag::new(PRIORITY, false, *vid).ok()))
            }
        }
    }
}

/// Adds an IP host to the port, if there are addresses for it.
pub(super) fn with_ip(port: FcPort, arguments: &IpArguments) -> FcPort {
    if arguments.addr.is_empty() {
        return port;
    }
    let services: Vec<_> = arguments.services.iter().flatten().map(|offer| offer.service).collect();
    port.with_ip(&arguments.addr, &Options::default(), &services)
}

/// Negotiation at a node's port, if there is one.
pub(super) fn negotiated<S: DeviceServer, W: Watcher<S>>(node: &FcNode<S, W>) -> Option<dcb::Port<'_>> {
    Some((node.dcb()?, node.line().info(), node.line().link()))
}

pub(super) fn route<S: DeviceServer, W: Watcher<S>>(
    node: &mut FcNode<S, W>,
    arguments: &IpArguments,
) -> Result<(), Trouble> {
    node.ip_mut().map_or(Ok(()), |ip| set_routes(ip, &arguments.route))
}

/// Prints the identity of our node for people.
pub(super) fn introduce<S: DeviceServer, W: Watcher<S>>(node: &FcNode<S, W>) {
    let (info, config) = (node.line().info(), node.config());
    let mut text = format!("{}: {}\n", info.name, info.path);
    text += &node.line().notes().iter().map(|note| format!("note: {note}\n")).collect::<String>();
    if config.mtu < 2158 {
        text +=
            &format!("note: an MTU of {} makes frames shorter than Fibre Channel's 2112 bytes of data\n", config.mtu);
    }
    let link = if node.line().link() == Link::Up { "up" } else { "down" };
    text +=
        &format!("port {}, node {}, MAC {}, MTU {}, link {link}\n", config.wwpn, config.wwnn, config.mac, config.mtu);
    if let Some((ip, _)) = node.ip() {
        let addresses: Vec<String> = ip.host.addresses().iter().map(ToString::to_string).collect();
        text += &format!("IP: {}, MAC {}, MTU {}\n", addresses.join(" "), ip.host.mac(), ip.host.mtu());
    }
    text += &node.dcb().map(|client| format!("LLDP: {}\n", dcb::operative(client))).unwrap_or_default();
    print(&text);
}

/// A stop that signals request, and the end of so many seconds if given.
pub(super) fn stopper(seconds: Option<u64>) -> Result<Stop, Trouble> {
    let stop = stop_at_signals()?;
    stop_after(&stop, seconds);
    Ok(stop)
}

/// "target", "initiator", both or "-".
pub(super) fn role(role: Role) -> &'static str {
    match (role.target, role.initiator) {
        (true, true) => "target+initiator",
        (true, false) => "target",
        (false, true) => "initiator",
        (false, false) => "-",
    }
}

/// Line for a node that has lost its address.
pub(super) fn no_address<S: DeviceServer>(node: &Node<S>) -> &'static str {
    match node.fip().has_link() {
        true => "no address: the link is up, and one is asked for again\n",
        false => "no address: the link is down\n",
    }
}

/// Line for a node that has lost its name to another station; it waits until that one is gone.
pub(super) fn name_in_use(holder: MacAddr) -> String {
    format!("no address: MAC {holder} has our WWPN; waiting until that one is gone\n")
}

/// Line for a login that a peer rejects because it knows another station by our name.
pub(super) fn name_taken(by: Wwn) -> String {
    format!(
        "note: {by} does not let us in yet: it knows another MAC by our WWPN, until that one logs out or its last beacon is \
         20 s old; wait that long, or give another --wwpn\n"
    )
}

/// Line for the end of a session: the peer and the reason.
pub(super) fn over(peer: &Peer, why: SessionEnd) -> String {
    let why = match why {
        SessionEnd::LoggedOut => "it logged out",
        SessionEnd::ProcessLoggedOut => "its process logged out",
        SessionEnd::LoginAgain => "it logs in anew",
        SessionEnd::Moved => "it has another address or name",
        SessionEnd::Gone => "it sends no beacons any more",
        SessionEnd::Refused => "it does not take us for logged in",
        SessionEnd::Silent => "it does not answer",
        SessionEnd::NoAddress => "we have no address, or another",
        SessionEnd::Unauthenticated => "it has not proved its name",
        SessionEnd::Shutdown => "we end",
    };
    format!("{} at {}: the session is over: {why}\n", peer.wwpn, peer.fc_id)
}

/// Line for a login that was authenticated.
pub(super) fn authenticated(name: Wwn, proof: &AuthProof) -> String {
    let group = if proof.bits > 0 { format!("Diffie-Hellman group of {} bits", proof.bits) } else { "no group".into() };
    let who = match (proof.theirs, proof.ours) {
        (true, true) => "has proved its name, and so have we",
        (true, false) => "has proved its name",
        _ => "has taken our proof",
    };
    format!("{name} {who}: DH-CHAP, {}, {group}\n", proof.hash)
}

/// Line for a login that could not be authenticated.
pub(super) fn unauthenticated(name: Wwn, why: AuthFailure) -> String {
    format!("note: {name} is not let in, or does not let us in: {why}\n")
}

/// A neighbour as one row of a table.
pub(super) fn line(neighbour: &Neighbour) -> String {
    let Neighbour { fc_id, mac, enode_mac, wwpn, wwnn, role: what, max_fcoe_size } = neighbour;
    format!("{wwpn}  {wwnn}  {fc_id}  {mac}  {enode_mac}  {max_fcoe_size:>5}  {}\n", role(*what))
}

/// Heading of the rows of [`line()`].
pub(super) const HEADING: &str =
    "port name                node name                address  VN_Port MAC         ENode MAC          bytes  role\n";

/// All counters below FCP, by name.
pub(super) fn counters<S: DeviceServer>(node: &Node<S>) -> Vec<(String, u64)> {
    let (fip, logins) = (node.fip_counters(), node.login_counters());
    let mut all: Vec<(String, u64)> = [
        ("fip_received", fip.received),
        ("login_requests", logins.requests),
        ("login_requests_sent", logins.requests_sent),
        ("login_rejects", logins.rejects),
        ("login_twins", logins.twins),
        ("login_rejects_sent", logins.rejects_sent),
        ("login_timeouts", logins.timeouts),
        ("sessions", logins.ups),
        ("sessions_ended", logins.downs),
    ]
    .map(|(name, n)| (name.to_owned(), n))
    .into();
    let auth = node.logins().auth_counters().into_iter().flat_map(|counters| {
        [
            ("authentications", counters.done),
            ("authentications_failed", counters.failed),
            ("authentications_put_off", counters.put_off),
            ("authentications_strays", counters.strays),
        ]
    });
    all.extend(auth.map(|(name, n)| (name.to_owned(), n)));
    all.extend(fip.drops().filter(|(_, n)| *n > 0).map(|(reason, n)| (format!("fip_dropped.{}", reason.name()), n)));
    all.extend(node.drops().filter(|(_, n)| *n > 0).map(|(reason, n)| (format!("dropped.{}", reason.name()), n)));
    all
}
