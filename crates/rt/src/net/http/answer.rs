//! An answer: its head, and the file or text that follows.

use super::files::{Found, find, media_type};
use super::request::Request;
use crate::net::file::Chunks;
use bytes::Bytes;
use std::fs::{File, Metadata};
use std::ops::Range;
use std::path::Path;
use std::time::SystemTime;

#[derive(Debug, Default)]
pub(super) struct Answer {
    /// The head, and a body that is no file.
    pub(super) text: Vec<u8>,
    /// A file, the first byte to be sent, and bytes to be sent of it.
    pub(super) file: Option<File>,
    pub(super) at: u64,
    pub(super) left: u64,
    /// Those that were read, and found no room.
    pub(super) chunk: Bytes,
    /// Buffers of the file, which go with the answer: a connection that is kept has none.
    pub(super) chunks: Chunks,
    /// The connection is kept.
    pub(super) keeps: bool,
}

impl Answer {
    /// Answers a request for a file of a folder.
    pub(super) fn to(request: &Request, folder: &Path) -> Self {
        if request.other {
            let text = "This server has GET and HEAD only.\n";
            return Self::short(request, "405 Method Not Allowed", "Allow: GET, HEAD\r\n", "text/plain", text);
        }
        match find(folder, &request.path) {
            Found::File(file, metadata, path) => Self::file(request, file, &metadata, &path),
            Found::List(text) => Self::short(request, "200 OK", "", "text/html; charset=utf-8", &text),
            Found::Moved(to) => {
                let more = format!("Location: {}\r\n", to.replace(['\r', '\n'], ""));
                Self::short(request, "301 Moved Permanently", &more, "text/plain", "It has moved.\n")
            }
            Found::Nothing => Self::short(request, "404 Not Found", "", "text/plain", "There is no such file.\n"),
        }
    }

    /// Answers what is no request, and ends the connection.
    pub(super) fn refusal(status: &str, why: &str) -> Self {
        Self::short(&Request::default(), status, "", "text/plain", &format!("{why}\n"))
    }

    fn short(request: &Request, status: &str, more: &str, kind: &str, body: &str) -> Self {
        let mut text =
            head(request, status, &format!("{more}Content-Type: {kind}\r\nContent-Length: {}\r\n", body.len()));
        if !request.head {
            text.extend_from_slice(body.as_bytes());
        }
        Self { text, keeps: request.keeps, ..Self::default() }
    }

    fn file(request: &Request, file: File, metadata: &Metadata, path: &Path) -> Self {
        let (len, modified) = (metadata.len(), metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH));
        let since = modified.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let tag = format!("\"{len:x}-{:x}\"", since.as_nanos());
        let date = httpdate::fmt_http_date(modified);
        let known = format!("ETag: {tag}\r\nLast-Modified: {date}\r\nAccept-Ranges: bytes\r\n");
        // RFC 9110, section 13.2.2: the date only where no tag is asked for.
        let unchanged = match (&request.if_none_match, &request.if_modified_since) {
            (Some(tags), _) => tags == "*" || tags.split(',').any(|one| one.trim().trim_start_matches("W/") == tag),
            (None, Some(date)) => {
                httpdate::parse_http_date(date).is_ok_and(|date| date.elapsed().is_ok() && modified <= end_of(date))
            }
            _ => false,
        };
        if unchanged {
            let text = head(request, "304 Not Modified", &known);
            return Self { text, keeps: request.keeps, ..Self::default() };
        }
        // A range of another version is of no use (section 13.1.5).
        let same = request.if_range.as_ref().is_none_or(|version| *version == tag || *version == date);
        let range = match request.range.as_deref().filter(|_| same).map(|range| part(range, len)) {
            None | Some(Part::All) => None,
            Some(Part::Some(range)) => Some(range),
            Some(Part::Nothing) => {
                let more = format!("Content-Range: bytes */{len}\r\n");
                return Self::short(
                    request,
                    "416 Range Not Satisfiable",
                    &more,
                    "text/plain",
                    "It has no such bytes.\n",
                );
            }
        };
        let (status, told) = match &range {
            Some(range) => {
                ("206 Partial Content", format!("Content-Range: bytes {}-{}/{len}\r\n", range.start, range.end - 1))
            }
            None => ("200 OK", String::new()),
        };
        let range = range.unwrap_or(0..len);
        let left = range.end - range.start;
        let kind = media_type(path);
        let text = head(request, status, &format!("{known}{told}Content-Type: {kind}\r\nContent-Length: {left}\r\n"));
        let left = if request.head { 0 } else { left };
        Self { text, file: Some(file), at: range.start, left, keeps: request.keeps, ..Self::default() }
    }
}

/// End of the second that a date names: dates have no parts of seconds.
fn end_of(date: SystemTime) -> SystemTime {
    date + std::time::Duration::from_nanos(999_999_999)
}

fn head(request: &Request, status: &str, fields: &str) -> Vec<u8> {
    let connection = if request.keeps { "keep-alive" } else { "close" };
    let date = httpdate::fmt_http_date(SystemTime::now());
    format!("HTTP/1.1 {status}\r\nDate: {date}\r\nServer: linerate\r\nConnection: {connection}\r\n{fields}\r\n").into()
}

/// Bytes that a Range field asks for.
#[derive(Debug, PartialEq, Eq)]
enum Part {
    /// Everything: it is no range of bytes, or several, which may be answered so (RFC 9110, section 14.2).
    All,
    Some(Range<u64>),
    /// Nothing that there is.
    Nothing,
}

/// Reads a Range field for a file of so many bytes (RFC 9110, section 14.1.2).
fn part(field: &str, len: u64) -> Part {
    let Some((from, to)) =
        field.strip_prefix("bytes=").filter(|all| !all.contains(',')).and_then(|all| all.split_once('-'))
    else {
        return Part::All;
    };
    let number = |text: &str| {
        text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<u64>().unwrap_or(u64::MAX - 1))
    };
    match (from.trim(), to.trim()) {
        ("", "") => Part::All,
        ("", last) => match number(last) {
            None => Part::All,
            Some(0) => Part::Nothing,
            Some(_) if len == 0 => Part::Nothing,
            Some(n) => Part::Some(len.saturating_sub(n)..len),
        },
        (first, last) => match (number(first), if last.is_empty() { Some(u64::MAX - 1) } else { number(last) }) {
            (Some(first), Some(last)) if first > last => Part::All,
            (Some(first), Some(_)) if first >= len => Part::Nothing,
            (Some(first), Some(last)) => Part::Some(first..len.min(last + 1)),
            _ => Part::All,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read() {
        for (field, right) in [
            ("bytes=0-0", Part::Some(0..1)),
            ("bytes=2-", Part::Some(2..10)),
            ("bytes=2-500", Part::Some(2..10)),
            ("bytes=-3", Part::Some(7..10)),
            ("bytes=-30", Part::Some(0..10)),
            ("bytes=9-9", Part::Some(9..10)),
            ("bytes=99999999999999999999-", Part::Nothing),
            ("bytes=10-", Part::Nothing),
            ("bytes=-0", Part::Nothing),
            ("bytes=5-4", Part::All),
            ("bytes=0-1,3-4", Part::All),
            ("bytes=-", Part::All),
            ("bytes=a-b", Part::All),
            ("lines=1-2", Part::All),
            ("bytes=0-99999999999999999999", Part::Some(0..10)),
        ] {
            assert_eq!(part(field, 10), right, "{field}");
        }
        assert_eq!((part("bytes=0-0", 0), part("bytes=-1", 0)), (Part::Nothing, Part::Nothing));
    }

    fn text(request: &Request, folder: &Path) -> String {
        String::from_utf8(Answer::to(request, folder).text).unwrap()
    }

    #[test]
    fn what_is_known_is_not_sent_again() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), "0123456789").unwrap();
        let request = || Request { path: "/a.txt".into(), keeps: true, ..Request::default() };
        let first = Answer::to(&request(), folder.path());
        let told = String::from_utf8(first.text).unwrap();
        assert!(told.starts_with("HTTP/1.1 200 OK\r\n") && told.contains("Content-Length: 10\r\n"), "{told}");
        assert_eq!((first.left, first.keeps), (10, true));
        let field = |name: &str| told.lines().find_map(|line| line.strip_prefix(name)).unwrap().to_owned();
        let (tag, date) = (field("ETag: "), field("Last-Modified: "));
        let with = |change: &dyn Fn(&mut Request)| {
            let mut request = request();
            change(&mut request);
            text(&request, folder.path())
        };
        assert!(with(&|r| r.if_none_match = Some(format!("\"x\", {tag}"))).starts_with("HTTP/1.1 304 "));
        assert!(with(&|r| r.if_modified_since = Some(date.clone())).starts_with("HTTP/1.1 304 "));
        assert!(
            with(&|r| r.if_modified_since = Some("Sun, 06 Nov 1994 08:49:37 GMT".into())).starts_with("HTTP/1.1 200 ")
        );
        assert!(with(&|r| r.if_none_match = Some("\"x\"".into())).starts_with("HTTP/1.1 200 "));
        let range =
            |version: Option<String>| with(&|r| (r.range, r.if_range) = (Some("bytes=2-4".into()), version.clone()));
        for version in [None, Some(tag.clone()), Some(date.clone())] {
            let told = range(version);
            assert!(told.starts_with("HTTP/1.1 206 ") && told.contains("Content-Range: bytes 2-4/10\r\n"), "{told}");
        }
        assert!(range(Some("\"older\"".into())).starts_with("HTTP/1.1 200 "));
        assert!(with(&|r| r.range = Some("bytes=10-".into())).contains("Content-Range: bytes */10\r\n"));
        let post = with(&|r| r.other = true);
        assert!(post.starts_with("HTTP/1.1 405 ") && post.contains("Allow: GET, HEAD\r\n"), "{post}");
        let head = Request { head: true, ..request() };
        assert_eq!(Answer::to(&head, folder.path()).left, 0);
    }
}
