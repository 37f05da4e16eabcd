//! Files of a folder, by the paths of requests.

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use std::ffi::OsStr;
use std::fs::{File, Metadata, OpenOptions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

/// Object that a path names.
#[derive(Debug)]
pub(super) enum Found {
    File(File, Metadata, PathBuf),
    /// A folder without an index: its list, in HTML.
    List(String),
    /// A folder whose path does not end in a slash: links of its list would lead elsewhere.
    Moved(String),
    /// Nothing that is served.
    Nothing,
}

/// Bytes that stand for something else in a link.
const ENCODED: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'%').add(b'<').add(b'>').add(b'?').add(b'&').add(b'\'');

/// Looks for what a path names within a folder, nowhere else: no `..`, and no link that leads out.
pub(super) fn find(folder: &Path, path: &str) -> Found {
    let Some(relative) = path.strip_prefix('/') else { return Found::Nothing };
    let decoded: Vec<u8> = percent_decode_str(relative).collect();
    let relative = Path::new(OsStr::from_bytes(&decoded));
    let plain = relative.components().all(|component| matches!(component, Component::Normal(_) | Component::CurDir));
    if decoded.contains(&0) || !plain {
        return Found::Nothing;
    }
    let (Ok(root), Ok(whole)) = (folder.canonicalize(), folder.join(relative).canonicalize()) else {
        return Found::Nothing;
    };
    if !whole.starts_with(&root) {
        return Found::Nothing;
    }
    if !whole.is_dir() {
        return open(&root, whole);
    }
    if !path.ends_with('/') {
        return Found::Moved(format!("{path}/"));
    }
    match whole.join("index.html").canonicalize() {
        Ok(index) if index.starts_with(&root) => open(&root, index),
        _ => list(&whole, &decoded),
    }
}

fn open(root: &Path, path: PathBuf) -> Found {
    // What waits for another program when it is opened is no file to serve.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&path);
    let Some((file, metadata)) = file.ok().and_then(|file| file.metadata().ok().map(|metadata| (file, metadata)))
    else {
        return Found::Nothing;
    };
    // The path may have changed since it was looked at.
    let still = path.canonicalize().is_ok_and(|now| now.starts_with(root));
    if metadata.is_file() && still { Found::File(file, metadata, path) } else { Found::Nothing }
}

fn list(folder: &Path, path: &[u8]) -> Found {
    let Ok(entries) = folder.read_dir() else { return Found::Nothing };
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().to_str()?.to_owned();
            let slash = if entry.path().is_dir() { "/" } else { "" };
            Some(name + slash)
        })
        .collect();
    names.sort_unstable();
    let title = escaped(&format!("/{}", String::from_utf8_lossy(path)));
    let mut text = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>{title}</title>\n<h1>{title}</h1>\n<ul>\n"
    );
    if !path.is_empty() {
        text += "<li><a href=\"../\">../</a></li>\n";
    }
    for name in names {
        // A name with a colon is no scheme behind "./".
        let link = utf8_percent_encode(&name, ENCODED);
        text += &format!("<li><a href=\"./{link}\">{}</a></li>\n", escaped(&name));
    }
    Found::List(text + "</ul>\n</html>\n")
}

/// The text as HTML shows it.
fn escaped(text: &str) -> String {
    text.chars().fold(String::new(), |all, c| match c {
        '&' => all + "&amp;",
        '<' => all + "&lt;",
        '>' => all + "&gt;",
        '"' => all + "&quot;",
        c => all + c.encode_utf8(&mut [0; 4]),
    })
}

/// Media type of a file, by the end of its name.
pub(super) fn media_type(path: &Path) -> &'static str {
    let end = path.extension().and_then(OsStr::to_str).unwrap_or_default().to_ascii_lowercase();
    let known = [
        ("html", "text/html; charset=utf-8"),
        ("htm", "text/html; charset=utf-8"),
        ("css", "text/css"),
        ("js", "text/javascript"),
        ("json", "application/json"),
        ("txt", "text/plain; charset=utf-8"),
        ("md", "text/plain; charset=utf-8"),
        ("csv", "text/csv; charset=utf-8"),
        ("xml", "application/xml"),
        ("svg", "image/svg+xml"),
        ("png", "image/png"),
        ("jpg", "image/jpeg"),
        ("jpeg", "image/jpeg"),
        ("gif", "image/gif"),
        ("webp", "image/webp"),
        ("ico", "image/x-icon"),
        ("pdf", "application/pdf"),
        ("wasm", "application/wasm"),
        ("mp4", "video/mp4"),
    ];
    known.iter().find(|(name, _)| *name == end).map_or("application/octet-stream", |(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir, write};
    use std::io::Read;

    fn content(found: Found) -> String {
        match found {
            Found::File(mut file, ..) => {
                let mut text = String::new();
                file.read_to_string(&mut text).unwrap();
                text
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn files_are_found_within_the_folder_alone() {
        let all = tempfile::tempdir().unwrap();
        let folder = all.path().join("served");
        create_dir(&folder).unwrap();
        create_dir(folder.join("sub")).unwrap();
        write(all.path().join("secret"), "secret").unwrap();
        write(folder.join("a b.txt"), "text").unwrap();
        write(folder.join("sub/index.html"), "index").unwrap();
        std::os::unix::fs::symlink(all.path().join("secret"), folder.join("out")).unwrap();
        std::os::unix::fs::symlink("a b.txt", folder.join("in")).unwrap();
        assert_eq!(content(find(&folder, "/a%20b.txt")), "text");
        assert_eq!(content(find(&folder, "/./in")), "text");
        assert_eq!(content(find(&folder, "/sub/")), "index");
        assert!(matches!(find(&folder, "/sub"), Found::Moved(to) if to == "/sub/"));
        for path in [
            "/../secret",
            "/%2e%2e/secret",
            "/sub/../../secret",
            "//etc/passwd",
            "/%2fetc/passwd",
            "/out",
            "/none",
            "",
            "*",
            "a b.txt",
            "/a%20b.txt%00",
            "/a b.txt/",
            "/sub/%2e%2e/%2e%2e/secret",
        ] {
            assert!(matches!(find(&folder, path), Found::Nothing), "{path}");
        }
        // A pipe would wait for a writer, a socket cannot be opened.
        let pipe = std::ffi::CString::new(folder.join("pipe").as_os_str().as_bytes()).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(pipe.to_str().unwrap()).status().unwrap().success());
        assert!(matches!(find(&folder, "/pipe"), Found::Nothing));
        assert!(matches!(find(&all.path().join("gone"), "/"), Found::Nothing));
    }

    #[test]
    fn a_folder_is_listed() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path().join("<&\"%.txt"), "").unwrap();
        create_dir(folder.path().join("sub")).unwrap();
        let Found::List(text) = find(folder.path(), "/") else { panic!("no list") };
        assert!(text.contains("<a href=\"./%3C%26%22%25.txt\">&lt;&amp;&quot;%.txt</a>"), "{text}");
        assert!(text.contains("<a href=\"./sub/\">sub/</a>") && !text.contains("../"), "{text}");
        assert!(matches!(find(folder.path(), "/%3C%26%22%25.txt"), Found::File(..)));
        let Found::List(text) = find(folder.path(), "/sub/") else { panic!("no list") };
        assert!(text.contains("<h1>/sub/</h1>") && text.contains("href=\"../\""), "{text}");
    }
}
