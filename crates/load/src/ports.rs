//! What users are told of ports: the path that each got, notes about it, and when its link comes and goes.

use linerate_port::{Link, OpenError, Port, Spec};

/// Slots of a ring in which a TCP window has room: the largest of Linux by default (6 MiB, `net.ipv4.tcp_rmem`), in full
/// frames. A sender that is a kernel waits for nothing else, and AF_XDP drops what finds no room.
const WINDOW: &str = "4096";

/// A port to forward between, from its name.
///
/// # Errors
/// As [`Spec::parse`] has them.
pub fn forwarded(name: &str) -> Result<Spec, OpenError> {
    let spec = Spec::parse(name)?;
    Ok(if spec.kind.name == "xdp" { spec.preferring("slots", WINDOW) } else { spec })
}

/// A port's path, and the notes about it, a line each.
#[must_use]
pub fn lines(port: &Port) -> Vec<String> {
    let info = port.info();
    let mut lines = vec![format!("{}: {}, frames up to {} bytes", info.name, info.path, info.largest)];
    lines.extend(port.notes().iter().map(|note| format!("{}: {note}", info.name)));
    lines
}

/// States of links as they were last told.
#[derive(Debug, Default)]
pub struct Links(Vec<(String, Link)>);

impl Links {
    /// Takes note of a port's state; a line for the user if it has changed.
    pub fn change(&mut self, name: &str, link: Link) -> Option<String> {
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, last)) if *last == link => return None,
            Some((_, last)) => *last = link,
            None => {
                self.0.push((name.to_owned(), link));
                // Up is what is expected.
                if link == Link::Up {
                    return None;
                }
            }
        }
        Some(format!("{name}: link {}", if link == Link::Up { "up" } else { "down" }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_alone_are_told() {
        let mut links = Links::default();
        assert_eq!(links.change("a", Link::Up), None);
        assert_eq!(links.change("b", Link::Down).as_deref(), Some("b: link down"));
        assert_eq!((links.change("a", Link::Up), links.change("b", Link::Down)), (None, None));
        assert_eq!(links.change("a", Link::Down).as_deref(), Some("a: link down"));
        assert_eq!(links.change("b", Link::Up).as_deref(), Some("b: link up"));
        assert_eq!((links.change("a", Link::Down), links.change("b", Link::Up)), (None, None));
    }
}
