//! Location of an export: the URIs of the NBD project's `doc/uri.md`.
//!
//! ```text
//!   nbd://HOST[:PORT]/[EXPORT]
//!   nbd+unix:///[EXPORT]?socket=PATH
//! ```
//! HOST may be an IPv6 address in brackets; `%XX` stands for any byte of EXPORT and PATH.

use super::super::DeviceError;
use linerate_nbd::wire::LONGEST_NAME;
use linerate_port::path::from_text;
use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// Address at which a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// Host name or address, and port.
    Tcp(String, u16),
    /// Path of a UNIX socket.
    Unix(PathBuf),
}

impl Address {
    /// Parses the address of a server: `unix:PATH` or `tcp:HOST:PORT`.
    ///
    /// # Errors
    /// The text has neither form.
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
    /// Address of the server.
    pub address: Address,
    /// Name of the export; empty for the default one.
    pub export: String,
    text: String,
}

impl NbdUri {
    /// Parses a URI.
    ///
    /// # Errors
    /// The text has none of the forms above.
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
        let (address, export) = if let Some(rest) = text.strip_prefix("nbd://") {
            let (host, export) = rest.split_once('/').unwrap_or((rest, ""));
            if export.contains('?') {
                return Err(oops("nbd:// takes no '?'", "for a UNIX socket write nbd+unix:///EXPORT?socket=PATH"));
            }
            let (host, port) =
                authority(host).ok_or_else(|| oops("the port is no number", "write nbd://HOST:PORT/"))?;
            if host.is_empty() {
                return Err(oops("it names no host", "write nbd://HOST[:PORT]/EXPORT"));
            }
            (Address::Tcp(host.to_owned(), port), export)
        } else if let Some(rest) = text.strip_prefix("nbd+unix://") {
            let mend = "write nbd+unix:///EXPORT?socket=PATH";
            let rest = rest.strip_prefix('/').ok_or_else(|| oops("a UNIX socket has no host", mend))?;
            let (export, socket) = rest.split_once("?socket=").ok_or_else(|| oops("it names no socket", mend))?;
            let path = bytes(socket)?;
            if path.is_empty() || path.contains(&0) {
                return Err(oops("it names no socket", mend));
            }
            (Address::Unix(OsString::from_vec(path).into()), export)
        } else {
            return Err(oops("it is no NBD URI", "write nbd://HOST[:PORT]/EXPORT or nbd+unix:///EXPORT?socket=PATH"));
        };
        Ok(Self { address, export: decoded(export)?, text: text.to_owned() })
    }

    /// The text that was parsed.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
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
