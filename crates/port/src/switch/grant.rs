//! Grants: the operator of the switch grants VLANs and a pause by port name. A program that asks for nothing gets the
//! whole grant, one that asks for a part gets that part, and one that asks for more is refused.

use super::member::Policy;
use super::vlan::Vlans;
use crate::cable::Refusal;

/// A program's wishes; None: the whole grant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Wish {
    pub(super) vlans: Option<Vlans>,
    pub(super) pause: Option<u8>,
}

impl Wish {
    /// The requested part of a grant.
    pub(super) fn granted(self, grant: &Policy) -> Result<Policy, Refusal> {
        let vlans = self.vlans.unwrap_or_else(|| grant.vlans.clone());
        let pause = self.pause.unwrap_or(grant.pause);
        if !vlans.are_among(&grant.vlans) {
            return Err(Refusal::Vlans);
        }
        if pause & !grant.pause != 0 {
            return Err(Refusal::Pause);
        }
        Ok(Policy { vlans, pause })
    }

    /// Policy of a port whose program opens the switch too, and so grants itself all wishes.
    pub(super) fn of_itself(self) -> Policy {
        Policy { vlans: self.vlans.unwrap_or_default(), pause: self.pause.unwrap_or(0) }
    }
}

impl Policy {
    /// Splits `NAME[:vlan=LIST][:pause=MASK]`, the notation of the switch's operator for a port.
    ///
    /// # Errors
    /// One line that names the malformed part and its correct form.
    pub fn behind(text: &str) -> Result<(&str, Self), String> {
        let (mut name, mut wish) = (text, Wish::default());
        while let Some((rest, part)) = name.rsplit_once(':') {
            let twice = if let Some(list) = part.strip_prefix("vlan=") {
                let mend = "give all, or numbers from 1 to 4094 as 10+t20+t30-39";
                let vlans = Vlans::parse(list).ok_or_else(|| format!("{part} is no list of VLANs; {mend}"))?;
                wish.vlans.replace(vlans).is_some()
            } else if let Some(mask) = part.strip_prefix("pause=") {
                let mend = "give 0 to 255, or 0x00 to 0xff";
                let pause =
                    Self::parse_pause(mask).ok_or_else(|| format!("{part} is no mask of 8 priorities; {mend}"))?;
                wish.pause.replace(pause).is_some()
            } else {
                break;
            };
            if twice {
                return Err(format!("{part} is said twice; say it once"));
            }
            name = rest;
        }
        Ok((name, wish.of_itself()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(vlans: &str, pause: u8) -> Policy {
        Policy { vlans: Vlans::parse(vlans).unwrap(), pause }
    }

    fn wish(vlans: Option<&str>, pause: Option<u8>) -> Wish {
        Wish { vlans: vlans.map(|text| Vlans::parse(text).unwrap()), pause }
    }

    #[test]
    fn a_guest_gets_what_is_granted_or_a_part_of_it_and_never_more() {
        let grant = policy("10+t20-29", 0x0f);
        assert_eq!(Wish::default().granted(&grant), Ok(grant.clone()));
        for (vlans, pause, gets) in [
            (Some("10"), None, Ok(policy("10", 0x0f))),
            (Some("t25"), Some(0), Ok(policy("t25", 0))),
            (Some("20+t10"), Some(8), Ok(policy("20+t10", 8))),
            (None, Some(0x0f), Ok(grant.clone())),
            (None, Some(0x10), Err(Refusal::Pause)),
            (None, Some(0xff), Err(Refusal::Pause)),
            (Some("all"), None, Err(Refusal::Vlans)),
            (Some("11"), None, Err(Refusal::Vlans)),
            (Some("t20-30"), None, Err(Refusal::Vlans)),
        ] {
            assert_eq!(wish(vlans, pause).granted(&grant), gets, "{vlans:?} {pause:?}");
        }
        let nothing = Policy::default();
        assert_eq!(wish(Some("7+t8"), Some(0)).granted(&nothing), Ok(policy("7+t8", 0)), "all VLANs are granted");
        assert_eq!(wish(None, Some(1)).granted(&nothing), Err(Refusal::Pause));
    }

    #[test]
    fn grants_are_read_from_behind_the_name() {
        assert_eq!(Policy::behind("b"), Ok(("b", Policy::default())));
        assert_eq!(Policy::behind("b:pause=0xff"), Ok(("b", policy("all", 0xff))));
        assert_eq!(Policy::behind("b:vlan=5+t7:pause=8"), Ok(("b", policy("5+t7", 8))));
        assert_eq!(Policy::behind("unix:/a:/b:pause=8:vlan=5"), Ok(("unix:/a:/b", policy("5", 8))));
        assert_eq!(Policy::behind("a:b"), Ok(("a:b", Policy::default())), "names are judged elsewhere");
        for (text, says) in [
            ("b:vlan=0", "vlan=0 is no list"),
            ("b:pause=256", "pause=256 is no mask"),
            ("b:pause=1:vlan=5:pause=1", "said twice"),
        ] {
            let line = Policy::behind(text).unwrap_err();
            assert!(line.contains(says), "{line}");
        }
    }
}
