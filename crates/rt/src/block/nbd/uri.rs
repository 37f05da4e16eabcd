//! Location of an export: the URIs of the NBD project's `doc/uri.md`.
//!
//! ```text
//!   nbd://HOST[:PORT]/[EXPORT][?settle=SECONDS]
//!   nbd+unix:///[EXPORT]?socket=PATH[&settle=SECONDS]
//! ```
//! HOST may be an IPv6 address in brackets; `%XX` stands for any byte of EXPORT and PATH. `settle` is ours: the time that a
//! server may need to end what a lost connection had asked for.

use super::super::DeviceError;
use linerate_nbd::wire::LONGEST_NAME;
use linerate_text::path::from_text;
use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

/// Address at which a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// Host name or address, and port.
    Tcp(String, u16),
    Unix(PathBuf),
}

impl Address {
    /// Parses the address of a server: `unix:PATH` or `tcp:HOST:PORT`.
    pub fn parse(text: &str) -> Result<Self, DeviceError> {
        let oops = |what: &str| DeviceError::new(text, what, "write unix:PATH or tcp:HOST[:PORT]");
        match text.split_once(':') {
            Some(("unix", path)) if !path.is_empty() && !path.contains('\0') => Ok(Self::Unix(from_text(path))),
            Some(("tcp", rest)) => match authority(rest) {
                Some((host, port)) if !host.is_empty() => Ok(Self::Tcp(host.to_owned(), port)),
                _ => Err(oops("it names no host, or its port is no number")),
            },
            _ => Err(oops("it is no address to listen at")),
        }
    }

    /// URI of the default export there, as [`NbdUri::parse`] reads it.
    #[must_use]
    pub fn uri(&self) -> String {
        match self {
            Self::Tcp(host, port) if host.contains(':') => format!("nbd://[{host}]:{port}"),
            Self::Tcp(host, port) => format!("nbd://{host}:{port}"),
            Self::Unix(path) => format!("nbd+unix:///?socket={}", encoded(path.as_os_str().as_bytes())),
        }
    }
}

/// In the form that [`Address::parse`] reads.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(host, port) if host.contains(':') => write!(f, "tcp:[{host}]:{port}"),
            Self::Tcp(host, port) => write!(f, "tcp:{host}:{port}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Port of NBD (IANA).
const PORT: u16 = 10809;

/// An export on a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NbdUri {
    pub address: Address,
    /// Name of the export; empty for the default one.
    pub export: String,
    /// Time after the loss of a connection with changes under way in which the server is not asked for anything, so that
    /// it does them before their repetitions.
    pub settle: Duration,
    text: String,
}

impl NbdUri {
    /// Parses a URI.
    pub fn parse(text: &str) -> Result<Self, DeviceError> {
        let oops = |what: &str, mend: &str| DeviceError::new(text, what, mend);
        if text.len() > LONGEST_NAME {
            return Err(oops("the URI is too long", "give one of at most 4096 characters"));
        }
        let bytes = |part: &str| {
            percent(part).ok_or_else(|| oops("a '%' is not followed by two hexadecimal digits", "write %25 for '%'"))
        };
        let decoded = |part: &str| {
            String::from_utf8(bytes(part)?).map_err(|_| oops("the export's name is no UTF-8", "give one that is"))
        };
        let (place, query) = text.split_once('?').map_or((text, None), |(place, query)| (place, Some(query)));
        let (mut socket, mut settle) = (None, Duration::ZERO);
        for part in query.into_iter().flat_map(|query| query.split('&')) {
            match part.split_once('=') {
                Some(("socket", path)) => socket = Some(bytes(path)?),
                Some(("settle", seconds)) => {
                    settle = parse_settle(seconds).ok_or_else(|| oops(WRONG_SETTLE.0, WRONG_SETTLE.1))?
                }
                _ => return Err(oops("behind the '?' stand socket= and settle=", "write %26 for '&' in a path")),
            }
        }
        let (address, export) = if let Some(rest) = place.strip_prefix("nbd://") {
            let (host, export) = rest.split_once('/').unwrap_or((rest, ""));
            if socket.is_some() {
                return Err(oops("nbd:// has no socket", "for a UNIX socket write nbd+unix:///EXPORT?socket=PATH"));
            }
            let (host, port) =
                authority(host).ok_or_else(|| oops("the port is no number", "write nbd://HOST:PORT/"))?;
            if host.is_empty() {
                return Err(oops("it names no host", "write nbd://HOST[:PORT]/EXPORT"));
            }
            (Address::Tcp(host.to_owned(), port), export)
        } else if let Some(rest) = place.strip_prefix("nbd+unix://") {
            let mend = "write nbd+unix:///EXPORT?socket=PATH";
            let export = rest.strip_prefix('/').ok_or_else(|| oops("a UNIX socket has no host", mend))?;
            let path = socket.filter(|path| !path.is_empty() && !path.contains(&0));
            let path = path.ok_or_else(|| oops("it names no socket", mend))?;
            (Address::Unix(OsString::from_vec(path).into()), export)
        } else {
            return Err(oops("it is no NBD URI", "write nbd://HOST[:PORT]/EXPORT or nbd+unix:///EXPORT?socket=PATH"));
        };
        Ok(Self { address, export: decoded(export)?, settle, text: text.to_owned() })
    }

    /// The text that was parsed.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// Longest settle time, in seconds.
const LONGEST_SETTLE: f64 = 3600.0;
const WRONG_SETTLE: (&str, &str) = ("settle= is no number of seconds up to 3600", "write settle=10");

/// Parses a number of seconds from 0 to an hour.
fn parse_settle(text: &str) -> Option<Duration> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let seconds = text.parse().ok().filter(|seconds| digits && *seconds <= LONGEST_SETTLE)?;
    Some(Duration::from_secs_f64(seconds))
}

/// Splits host and port.
fn authority(text: &str) -> Option<(&str, u16)> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            (host, if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) })
        }
        None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
    };
    Some((host, port.map_or(Some(PORT), |digits| digits.parse().ok())?))
}

/// Percent-encodes all characters with a meaning in a URI (RFC 3986, clause 2.1).
fn encoded(bytes: &[u8]) -> String {
    let byte = |byte: &u8| match byte {
        b'/' | b'.' | b'-' | b'_' | b'~' => char::from(*byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(*byte).to_string(),
        byte => format!("%{byte:02x}"),
    };
    bytes.iter().map(byte).collect()
}

/// Decodes percent-encoding (RFC 3986, clause 2.1).
fn percent(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let typed = from_text(text).into_os_string().into_vec();
    let mut rest = typed.into_iter();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                u8::try_from(digit()? << 4 | digit()?).ok()?
            }
            byte => byte,
        });
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read() {
        let tcp = |host: &str, port| Address::Tcp(host.into(), port);
        for (text, address, export) in [
            ("nbd://storage", tcp("storage", 10809), ""),
            ("nbd://10.0.0.1:1234/a/b", tcp("10.0.0.1", 1234), "a/b"),
            ("nbd://[fe80::1]:7/", tcp("fe80::1", 7), ""),
            ("nbd://[::1]/x%20y", tcp("::1", 10809), "x y"),
            ("nbd+unix:///?socket=/run/a%3fb", Address::Unix("/run/a?b".into()), ""),
            ("nbd+unix:///disk?socket=x.sock", Address::Unix("x.sock".into()), "disk"),
        ] {
            let uri = NbdUri::parse(text).unwrap();
            assert_eq!((uri.address, uri.export.as_str(), uri.text.as_str()), (address, export, text));
            assert_eq!(uri.settle, Duration::ZERO);
        }
        for (text, seconds) in [
            ("nbd://h?settle=0", 0.0),
            ("nbd://h/x?settle=2.5", 2.5),
            ("nbd+unix:///x?socket=/s&settle=3600", 3600.0),
            ("nbd+unix:///x?settle=7&socket=/s", 7.0),
        ] {
            assert_eq!(NbdUri::parse(text).unwrap().settle, Duration::from_secs_f64(seconds), "{text}");
        }
        for text in ["", "-1", "x", "inf", "NaN", "1e3", "3601", "1s", "1.2.3", "."] {
            let error = NbdUri::parse(&format!("nbd://h/?settle={text}")).unwrap_err().to_string();
            assert!(error.contains("settle= is no number"), "{error}");
        }
    }

    #[test]
    fn addresses_to_listen_at_come_back_as_they_were() {
        for text in ["unix:/run/x", "tcp:localhost:7", "tcp:[::1]:10809"] {
            assert_eq!(Address::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Address::parse("tcp:h").unwrap().to_string(), "tcp:h:10809");
        for (text, uri) in [
            ("unix:/run/a b?", "nbd+unix:///?socket=/run/a%20b%3f"),
            ("tcp:[::1]:7", "nbd://[::1]:7"),
            ("tcp:h", "nbd://h:10809"),
        ] {
            let address = Address::parse(text).unwrap();
            assert_eq!(address.uri(), uri);
            assert_eq!(NbdUri::parse(uri).unwrap().address, address);
        }
        for text in ["", "unix:", "tcp:", "tcp::7", "udp:h", "tcp:h:x"] {
            assert!(Address::parse(text).unwrap_err().to_string().contains("; write"), "{text}");
        }
    }

    #[test]
    fn whatever_is_wrong_is_named_with_its_mend() {
        for text in [
            "",
            "http://x",
            "nbd://",
            "nbd://:7/",
            "nbd://h:x/",
            "nbd://h:99999/",
            "nbd://[::1/",
            "nbd://[::1]7/",
            "nbd://h/%zz",
            "nbd://h/%2",
            "nbd://h/x?socket=y",
            "nbd://h/x?",
            "nbd://h/x?y",
            "nbd+unix:///x?socket=a&b",
            "nbd+unix://h/x?socket=y",
            "nbd+unix:///x",
            "nbd+unix:///x?socket=",
            "nbd+unix:///\n?socket=%00",
            "nbd://h/%ff",
        ] {
            let line = NbdUri::parse(text).unwrap_err().to_string();
            assert!(line.contains("; ") && !line.contains('\n'), "{text}: {line}");
        }
    }
}
