//! A request: its head.

/// Most fields of a head.
const FIELDS: usize = 64;

/// Head of a request, as far as this server looks at it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Request {
    /// The body of the answer is left out (HEAD).
    pub(super) head: bool,
    /// The method is neither GET nor HEAD.
    pub(super) other: bool,
    /// Target, without its query.
    pub(super) path: String,
    /// The connection is kept after the answer.
    pub(super) keeps: bool,
    pub(super) range: Option<String>,
    pub(super) if_range: Option<String>,
    pub(super) if_none_match: Option<String>,
    pub(super) if_modified_since: Option<String>,
}

/// Part of a request that has come.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// All of it, in so many bytes.
    Whole(Request, usize),
    /// Some of it.
    Part,
    /// Nothing that can be answered but with this status, and why.
    Wrong(&'static str, &'static str),
}

impl Request {
    pub(super) fn parse(bytes: &[u8]) -> Head {
        let mut fields = [httparse::EMPTY_HEADER; FIELDS];
        let mut parsed = httparse::Request::new(&mut fields);
        let len = match parsed.parse(bytes) {
            Ok(httparse::Status::Complete(len)) => len,
            Ok(httparse::Status::Partial) => return Head::Part,
            Err(httparse::Error::TooManyHeaders) => {
                return Head::Wrong("431 Request Header Fields Too Large", "There are too many header fields.");
            }
            Err(_) => return Head::Wrong("400 Bad Request", "This is no request of HTTP/1.1."),
        };
        let new = parsed.version == Some(1);
        let target = parsed.path.unwrap_or_default();
        // The absolute form names the host too (RFC 9112, section 3.2.2).
        let path = match target.split_once("://") {
            Some((_, rest)) if !target.starts_with('/') => rest.find('/').map_or("/", |at| &rest[at..]),
            _ => target,
        };
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let method = parsed.method.unwrap_or_default();
        let mut request = Self {
            head: method == "HEAD",
            other: method != "HEAD" && method != "GET",
            path: path.to_owned(),
            keeps: new,
            ..Self::default()
        };
        let (mut hosts, mut body) = (0, request.other);
        for field in parsed.headers.iter() {
            let value = String::from_utf8_lossy(field.value).trim().to_owned();
            match field.name.to_ascii_lowercase().as_str() {
                "host" => hosts += 1,
                "connection" => {
                    let mut options = value.split(',').map(|option| option.trim().to_ascii_lowercase());
                    request.keeps =
                        options.all(|option| option != "close") && (new || value.eq_ignore_ascii_case("keep-alive"));
                }
                "content-length" => body |= value != "0",
                "transfer-encoding" => body = true,
                "range" => request.range = Some(value),
                "if-range" => request.if_range = Some(value),
                "if-none-match" => request.if_none_match = Some(value),
                "if-modified-since" => request.if_modified_since = Some(value),
                _ => {}
            }
        }
        if new && hosts != 1 {
            // RFC 9112, section 3.2.
            return Head::Wrong("400 Bad Request", "A request of HTTP/1.1 names one host.");
        }
        // A body is not read: what follows it could not be told from it.
        request.keeps &= !body;
        Head::Whole(request, len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> Request {
        match Request::parse(text.as_bytes()) {
            Head::Whole(request, len) => {
                assert_eq!(len, text.len());
                request
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_head_is_read() {
        let request = whole("GET /a%20b?x=1 HTTP/1.1\r\nHost: here\r\nRange: bytes=1-2 \r\n\r\n");
        assert_eq!((request.path.as_str(), request.range.as_deref()), ("/a%20b", Some("bytes=1-2")));
        assert!(request.keeps && !request.head && !request.other);
        assert_eq!(whole("HEAD http://here/c HTTP/1.1\r\nHost: here\r\n\r\n").path, "/c");
        assert_eq!(whole("GET http://here HTTP/1.1\r\nHost: here\r\n\r\n").path, "/");
    }

    #[test]
    fn a_connection_is_kept_as_both_want_it() {
        for (head, keeps) in [
            ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", true),
            ("GET / HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n", false),
            ("GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade, close\r\n\r\n", false),
            ("GET / HTTP/1.0\r\n\r\n", false),
            ("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true),
            ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", true),
            ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n", false),
            ("POST / HTTP/1.1\r\nHost: a\r\n\r\n", false),
        ] {
            assert_eq!(whole(head).keeps, keeps, "{head}");
        }
    }

    #[test]
    fn what_is_no_request_is_told_so() {
        assert_eq!(Request::parse(b"GET / HTTP/1.1\r\nHos"), Head::Part);
        for wrong in
            ["\x16\x03\x01 hello\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"]
        {
            assert!(matches!(Request::parse(wrong.as_bytes()), Head::Wrong("400 Bad Request", _)), "{wrong}");
        }
    }
}
