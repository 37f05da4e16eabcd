//! Tokens of Rust text: names, `::` and single characters. Comments, strings, characters, numbers and lifetimes are
//! left out.

pub(super) fn words(text: &str) -> Vec<String> {
    let text: Vec<char> = text.chars().collect();
    let (mut words, mut at) = (Vec::new(), 0);
    let is = |at: usize, sign: char| text.get(at) == Some(&sign);
    let in_name = |at: usize| text.get(at).is_some_and(|c| c.is_alphanumeric() || *c == '_');
    while at < text.len() {
        match text[at] {
            '/' if is(at + 1, '/') => at = find(&text, at, "\n"),
            '/' if is(at + 1, '*') => at = comment_end(&text, at),
            '"' => at = string_end(&text, at),
            '\'' if is(at + 1, '\\') => at = find(&text, at + 3, "'"),
            '\'' if is(at + 2, '\'') => at += 3,
            '\'' => at = (at + 1..).find(|at| !in_name(*at)).unwrap_or(at),
            ':' if is(at + 1, ':') => {
                words.push("::".to_owned());
                at += 2;
            }
            _ if in_name(at) => {
                let end = (at..).find(|at| !in_name(*at)).unwrap_or(at);
                let name: String = text[at..end].iter().collect();
                let hashes = text[end..].iter().take_while(|c| **c == '#').count();
                let begins_string = matches!(name.as_str(), "r" | "b" | "br" | "c" | "cr") && is(end + hashes, '"');
                at = match name.as_str() {
                    "r" | "br" | "cr" if begins_string => {
                        find(&text, end + hashes + 1, &format!("\"{}", "#".repeat(hashes)))
                    }
                    "b" | "c" if begins_string && hashes == 0 => end,
                    // A raw name, which would otherwise be a keyword.
                    "r" if hashes == 1 => end + 1,
                    "b" if is(end, '\'') => end,
                    _ => {
                        if !name.starts_with(|c: char| c.is_ascii_digit()) {
                            words.push(name);
                        }
                        end
                    }
                };
            }
            sign => {
                if !sign.is_whitespace() {
                    words.push(sign.to_string());
                }
                at += 1;
            }
        }
    }
    words
}

/// Position behind the next occurrence of `what`, or the end.
fn find(text: &[char], from: usize, what: &str) -> usize {
    let what: Vec<char> = what.chars().collect();
    let found = (from..text.len()).find(|at| text[*at..].starts_with(&what));
    found.map_or(text.len(), |at| at + what.len())
}

/// Position behind a comment, and the comments nested in it.
fn comment_end(text: &[char], from: usize) -> usize {
    let (mut at, mut depth) = (from, 0);
    while at < text.len() {
        let change = match text[at..] {
            ['/', '*', ..] => 1,
            ['*', '/', ..] => -1,
            _ => 0,
        };
        depth += change;
        at += if change == 0 { 1 } else { 2 };
        if depth == 0 {
            break;
        }
    }
    at
}

fn string_end(text: &[char], from: usize) -> usize {
    let mut at = from + 1;
    while at < text.len() && text[at] != '"' {
        at += if text[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

#[test]
fn words_are_told_from_what_is_between_them() {
    let text = r####"
        // crate::a
        /* crate::b /* crate::c */ crate::d */
        use crate::e; "crate::f \" crate::g" b"crate::h" r#"crate::i " crate::j"# 'k' '\'' '\u{27}' b'"' b'\\' 0x6c_u8
        fn m<'n>(o: &'n str) {} r#use // the end"####;
    let all = "use crate :: e ; fn m < > ( o : & str ) { } use";
    assert_eq!(words(text).join(" "), all);
}
