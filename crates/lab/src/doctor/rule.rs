//! A rule: one thing to look at.

use super::finding::{Finding, Load, Risk, Severity};
use super::view::View;
use linerate_host::freebsd::{FreebsdAdapter, FreebsdTexts};

/// Kind of a rule's subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Interface,
    Host,
    /// The peer that was named.
    Peer,
    /// The interface by which the peer is reached, and the peer's own.
    Ends,
    /// An interface of a FreeBSD host, of which the texts of its programs are there.
    Freebsd,
}

/// Load that shows whether a finding's changes help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// TCP to the peer.
    Stream,
    /// TCP from the peer.
    Back,
    /// Requests to the peer, and its responses.
    Requests,
    /// None: the rule finds nothing any more.
    Look,
}

impl Proof {
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Stream => "TCP to a peer",
            Self::Back => "TCP from a peer",
            Self::Requests => "requests to a peer",
            Self::Look => "a second look",
        }
    }
}

/// Findings of a rule, or the reason why it cannot look.
pub(super) type Found = Result<Vec<Finding>, String>;

/// The way in which a rule looks.
#[derive(Clone, Copy)]
pub(super) enum Look {
    /// An offload that is to be on: its name, the word of ethtool(8), and the gain.
    Feature(&'static str, &'static str, &'static str),
    /// Counters that are to be zero, how much in half a second is usual, the fault in words, and what to type, with `{}` for the
    /// interface.
    Losses(&'static [&'static str], u64, &'static str, &'static str),
    /// A sysctl that is to lie between two numbers if one of the loads was named and a link has so many Mb/s, the value to set, and
    /// the gain.
    Sysctl(&'static str, [u64; 2], u64, &'static [Load], u32, &'static str),
    Custom(fn(&View<'_>) -> Found),
    Freebsd(fn(&FreebsdAdapter, &FreebsdTexts) -> Found),
}

#[derive(Clone, Copy)]
pub struct Rule {
    /// Name, as in findings.
    pub name: &'static str,
    pub scope: Scope,
    pub about: &'static str,
    /// Meaning of a finding.
    pub means: &'static str,
    /// Publication of that.
    pub published: &'static str,
    pub proof: Proof,
    /// Class of its changes, unless what they change is of a graver one.
    pub risk: Risk,
    pub(super) look: Look,
}

/// Mb/s of a link from which a host must be set up for it.
pub(super) const FAST: u32 = 10_000;

const fn of(scope: Scope) -> Rule {
    let look = Look::Custom(|_| healthy());
    // A rule that does not say how much its changes risk risks most.
    Rule { name: "", scope, about: "", means: "", published: "", proof: Proof::Look, risk: Risk::Security, look }
}

/// Texts of the rules: of each its name, what it looks at, what a finding means, and who says so, a line each.
const TEXTS: &str = include_str!("../../data/rules.txt");

/// Rules to be filled in, by their subjects.
pub(super) const INTERFACE: Rule = of(Scope::Interface);
pub(super) const HOST: Rule = of(Scope::Host);
pub(super) const PEER: Rule = of(Scope::Peer);
pub(super) const ENDS: Rule = of(Scope::Ends);
pub(super) const FREEBSD: Rule = of(Scope::Freebsd);

impl Rule {
    pub(super) const fn looks(self, name: &'static str, look: Look) -> Self {
        Self { name, look, ..self }
    }

    pub(super) const fn by(self, name: &'static str, look: fn(&View<'_>) -> Found) -> Self {
        self.looks(name, Look::Custom(look))
    }

    pub(super) const fn freebsd(self, name: &'static str, look: fn(&FreebsdAdapter, &FreebsdTexts) -> Found) -> Self {
        self.looks(name, Look::Freebsd(look))
    }

    pub(super) const fn risk(self, risk: Risk) -> Self {
        Self { risk, ..self }
    }

    pub(super) const fn proof(self, proof: Proof) -> Self {
        Self { proof, ..self }
    }

    /// The rule with its texts; those of one that has none are empty.
    pub(super) fn told(self) -> Self {
        let mut texts = TEXTS.split("\n\n").map(|one| one.trim().lines().collect::<Vec<_>>());
        match texts.find(|lines| lines.first() == Some(&self.name)).as_deref() {
            Some([_, about, means, published]) => Self { about, means, published, ..self },
            _ => self,
        }
    }

    pub(super) fn look(&self, view: &View<'_>) -> Found {
        match self.look {
            Look::Feature(feature, short, gain) => view.off(feature, short, gain),
            Look::Losses(names, few, what, mend) => Ok(view
                .losses(&names.join("|"), few, what)
                .map(|one| one.mend(mend.replace("{}", &view.typed())))
                .into_iter()
                .collect()),
            Look::Sysctl(name, [least, most], to, loads, speed, gain) => {
                let now = view.sysctl_number(name)?;
                if (least..=most).contains(&now) || !view.wants(loads) || !view.has_speed(speed) {
                    return healthy();
                }
                view.set(Severity::Note, name, now, to).gain(gain).alone()
            }
            Look::Custom(look) => look(view),
            Look::Freebsd(_) => Err("it is of FreeBSD".to_owned()),
        }
    }
}

pub(super) fn healthy() -> Found {
    Ok(Vec::new())
}
