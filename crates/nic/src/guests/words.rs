//! Interfaces that come, go and are changed, in the words of `linerate nic vi`.

use super::{Guests, refuse};
use crate::adapter::{MAX_INTERFACES, NicError, PARAMETERS, ViSettings};
use linerate_port::switch::Vlans;
use linerate_text::short;

/// Words of an interface that are a parameter's by a shorter name.
const SHORT: [(&str, &str); 3] = [("cap", "tx.rate"), ("share", "tx.weight"), ("queues", "rx.rss_queues")];
/// Parameters that are the whole adapter's.
const WHOLE: &str = "tx.class_weights";

/// Name of the setting that a word changes: of two words with one name the later counts.
#[must_use]
pub fn setting_of(word: &str) -> &str {
    let name = word.split_once('=').map_or_else(|| word.trim_start_matches('-'), |(name, _)| name);
    SHORT.iter().find(|(short, _)| *short == name).map_or(name, |(_, long)| long)
}

impl Guests {
    /// True if there is this interface, for programs.
    #[must_use]
    pub fn exists(&self, vi: usize) -> bool {
        self.not_own(vi).is_ok() && self.desk.places.get(vi).is_some_and(|place| place.exists)
    }

    /// Adds an interface, changed as the words say: flags and `NAME=VALUE`.
    ///
    /// # Errors
    /// [`NicError`], in one line, when it exists, or a word is wrong; nothing is changed then.
    pub fn add(&mut self, vi: usize, words: &[String]) -> Result<(), NicError> {
        if vi >= MAX_INTERFACES {
            return Err(NicError::NoInterface(vi, MAX_INTERFACES));
        }
        self.not_own(vi)?;
        if self.exists(vi) {
            return refuse(format!("virtual interface {vi} is there already; change it with `linerate nic vi set`"));
        }
        let all: Vec<String> = std::iter::once("up=1".to_owned()).chain(words.iter().cloned()).collect();
        self.change(vi, &all)?;
        self.desk.places[vi].exists = true;
        Ok(())
    }

    /// Changes an interface as the words say.
    ///
    /// # Errors
    /// [`NicError`], in one line, when there is none, or a word is wrong; nothing is changed then.
    pub fn set(&mut self, vi: usize, words: &[String]) -> Result<(), NicError> {
        self.known(vi)?;
        self.change(vi, words)
    }

    /// Removes an interface; its program sees its link go down.
    ///
    /// # Errors
    /// [`NicError`] when there is none.
    pub fn remove(&mut self, vi: usize) -> Result<(), NicError> {
        self.known(vi)?;
        let fresh = self.fresh[vi].clone();
        self.control.change(vi, |settings| *settings = fresh)?;
        (self.desk.places[vi].exists, self.desk.places[vi].policy) = (false, super::GuestPolicy::default());
        Ok(())
    }

    fn not_own(&self, vi: usize) -> Result<(), NicError> {
        match &self.desk.own {
            Some(own) if own.interface == vi => {
                refuse(format!("virtual interface {vi} is the adapter's own: choose another"))
            }
            _ => Ok(()),
        }
    }

    fn known(&self, vi: usize) -> Result<(), NicError> {
        self.not_own(vi)?;
        if self.exists(vi) {
            return Ok(());
        }
        let all: Vec<String> = (0..MAX_INTERFACES).filter(|vi| self.exists(*vi)).map(|vi| vi.to_string()).collect();
        let there =
            if all.is_empty() { "there is none yet".to_owned() } else { format!("there are {}", all.join(", ")) };
        refuse(format!("there is no virtual interface {vi}; {there}; add it with `linerate nic vi add`"))
    }

    /// Changes an interface, all or nothing.
    fn change(&mut self, vi: usize, words: &[String]) -> Result<(), NicError> {
        let before: ViSettings = self.control.settings(vi)?;
        let policy = self.policy(vi);
        for word in words {
            if let Err(why) = self.apply(vi, word) {
                self.control.change(vi, |settings| *settings = before)?;
                self.set_policy(vi, policy);
                return Err(why);
            }
        }
        Ok(())
    }

    fn apply(&mut self, vi: usize, word: &str) -> Result<(), NicError> {
        let Some((name, value)) = word.split_once('=') else { return self.control.set_flag(vi, word).map(drop) };
        let mut policy = self.policy(vi);
        match setting_of(word) {
            "vlan" => {
                let Some(vlans) = Vlans::parse(value) else {
                    let mend = "give all, or numbers from 1 to 4094 as 10+t20+t30-39";
                    return refuse(format!("{} is no list of VLANs; {mend}", short(word, 40)));
                };
                policy.vlans = vlans;
            }
            "spoofchk" => {
                policy.spoof_check = match value {
                    "0" => false,
                    "1" => true,
                    _ => return refuse(format!("{} will not do; give 1 or 0", short(word, 40))),
                };
            }
            WHOLE => {
                return refuse(format!("{WHOLE} is the whole adapter's; give it to `linerate nic up --class-weights`"));
            }
            long => {
                let known = PARAMETERS.iter().any(|row| row.name == long);
                return match self.control.set_parameter(vi, long, value) {
                    Err(NicError::Parameter(_)) if !known => {
                        let words = ["mac", "vlan", "spoofchk", "cap", "share", "queues", "mtu", "up"];
                        let mend = match linerate_text::nearest(name, words) {
                            Some(meant) => format!("did you mean {meant}?"),
                            None => format!(
                                "there are {}, and flags and parameters as `linerate nic show` has them",
                                words.join(", ")
                            ),
                        };
                        refuse(format!("{}: no such setting; {mend}", short(name, 40)))
                    }
                    Err(NicError::Parameter(_)) if name != long => {
                        let about = PARAMETERS.iter().find(|row| row.name == long).map_or("", |row| row.about);
                        refuse(format!("{} will not do; it is: {about}", short(word, 40)))
                    }
                    done => done,
                };
            }
        }
        self.set_policy(vi, policy);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guests::adapter_for_guests;

    fn guests() -> Guests {
        Guests::new(&mut adapter_for_guests(linerate_port::open("null:").unwrap()).unwrap()).unwrap()
    }

    #[test]
    fn nobody_is_let_in_who_has_not_come() {
        let spec = linerate_port::Spec::parse("cable:nobody-at-the-door").unwrap();
        let listener = linerate_port::switch::Listener::of_adapter(&spec).unwrap();
        assert!(!guests().admit(&listener), "who runs the adapter would never sleep");
    }

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn interfaces_come_are_changed_and_go() {
        let mut guests = guests();
        assert!(guests.grants().is_empty());
        guests.add(5, &words("mac=02:00:00:00:05:05 vlan=10+t20 cap=1G share=3 -tso")).unwrap();
        let settings = guests.control().settings(5).unwrap();
        assert_eq!((settings.mac, settings.rate, settings.weight), ([2, 0, 0, 0, 5, 5], Some(1_000_000_000), 3));
        assert_eq!(guests.policy(5).vlans.to_string(), "10+t20");
        assert_eq!(guests.grants()[0].0, "vi5");
        guests.set(5, &words("up=0")).unwrap();
        assert!(guests.grants().is_empty() && guests.exists(5), "down, and there");
        guests.remove(5).unwrap();
        assert!(guests.set(5, &[]).is_err() && guests.policy(5).vlans.is_all());
        guests.add(5, &[]).unwrap();
        assert_ne!(guests.control().settings(5).unwrap().mac, [2, 0, 0, 0, 5, 5], "as new");
    }

    #[test]
    fn what_is_wrong_is_one_line_and_changes_nothing() {
        let mut guests = guests();
        guests.add(1, &words("mac=02:00:00:00:00:01")).unwrap();
        guests.add(2, &words("mac=02:00:00:00:00:02 vlan=7 spoofchk=0")).unwrap();
        let before = format!("{:?}", guests.control().settings(2));
        for (text, says) in [
            ("share=2 vlan=5000", "vlan=5000 is no list of VLANs"),
            ("vlan=9 cap=fast", "cap=fast will not do; it is: most that it sends"),
            ("share=0", "weight 0"),
            ("spoofchk=maybe", "give 1 or 0"),
            ("colour=red", "no such setting; there are mac"),
            ("sahre=2", "did you mean share?"),
            ("mac=01:00:00:00:00:01", "group"),
            ("mac=02:00:00:00:00:01", "interface 1's address"),
            ("vlanhwtagging", "VLAN_HWTAGGING"),
            ("mtu=70000", "mtu 70000"),
            ("tx.class_weights=1,2", "whole adapter"),
        ] {
            let line = guests.set(2, &words(text)).unwrap_err().to_string();
            assert!(line.contains(says) && !line.contains('\n'), "{text}: {line}");
            assert_eq!(format!("{:?}", guests.control().settings(2)), before, "{text}");
            assert_eq!(guests.policy(2).vlans.to_string(), "7", "{text}");
        }
        assert!(guests.add(2, &[]).is_err() && guests.add(128, &[]).is_err() && guests.remove(3).is_err());
    }

    #[test]
    fn the_adapters_own_interface_is_not_for_programs() {
        let lldp = linerate_wire::EtherType::LLDP;
        let mut guests = guests();
        assert!(!guests.send_own(&[0; 60]), "there is none");
        guests.keep(127, &[lldp], &[[1, 0x80, 0xc2, 0, 0, 0xe]]).unwrap();
        guests.add(1, &[]).unwrap();
        assert_eq!(guests.grants().iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["vi1"]);
        for refused in [guests.add(127, &[]), guests.set(127, &[]), guests.remove(127), guests.keep(1, &[lldp], &[])] {
            let line = refused.unwrap_err().to_string();
            assert!(line.starts_with("virtual interface ") && !line.contains('\n'), "{line}");
        }
        assert!(guests.send_own(&[0; 60]));
        guests.poll(0);
        let own = guests.reports().into_iter().find(|report| report.interface == 127).unwrap();
        assert_eq!((own.present, own.count.to_port), (true, 1));
        assert_eq!(
            own.nic.of(crate::adapter::Count::TxFrames),
            1,
            "the first frame is not dropped as of an interface that is down"
        );
    }

    #[test]
    fn a_word_is_of_its_setting() {
        for (word, name) in [("cap=1G", "tx.rate"), ("tx.rate=1G", "tx.rate"), ("-tso", "tso"), ("vlan=5", "vlan")] {
            assert_eq!(setting_of(word), name);
        }
    }
}
