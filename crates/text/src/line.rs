//! Lines for a terminal. Names, answers of peers and what was typed may contain what drives a terminal or breaks a line.

/// True for a character that moves the cursor, breaks a line, or changes the direction of writing.
#[must_use]
pub fn drives(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text with a replacement character for each one that [drives](drives) a terminal.
#[must_use]
pub fn plain(text: &str) -> String {
    text.replace(drives, "\u{fffd}")
}

/// As [`plain`], of a text of several lines: line breaks and tabs stay.
#[must_use]
pub fn plain_lines(text: &str) -> String {
    text.replace(|c| drives(c) && !matches!(c, '\n' | '\t'), "\u{fffd}")
}

/// JSON with `\u` escapes (RFC 8259, clause 7) for the characters that [drive](drives) a terminal and may stand in a string of
/// JSON as they are. It reads as before.
#[must_use]
pub fn escaped(json: &str) -> String {
    let raw = |c: &char| *c > '~' && drives(*c);
    json.chars().fold(String::with_capacity(json.len()), |mut text, c| {
        match Some(c).filter(raw) {
            Some(c) => text += &format!("\\u{:04x}", u32::from(c)),
            None => text.push(c),
        }
        text
    })
}

/// The text with a space for each control character, for a sentence of our own that repeats others' words.
#[must_use]
pub fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

/// Users' text, to be repeated in an error: without control characters, and of so many characters at most.
#[must_use]
pub fn short(text: &str, most: usize) -> String {
    text.chars().filter(|c| !c.is_control()).take(most).collect()
}

/// A number of things, by the word for one of them: `1 point`, `2 points`.
#[must_use]
pub fn many<N: std::fmt::Display + PartialEq + From<u8>>(number: N, one: &str) -> String {
    format!("{number} {one}{}", if number == N::from(1) { "" } else { "s" })
}

/// Lines of so many characters at most, broken at spaces; a longer word is broken where its line ends.
#[must_use]
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let letters: Vec<char> = word.chars().collect();
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + letters.len() <= width => *line += &format!(" {word}"),
            _ => lines.extend(letters.chunks(width.max(1)).map(|part| part.iter().collect::<String>())),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_no_plural() {
        assert_eq!([0_u64, 1, 2].map(|n| many(n, "point")), ["0 points", "1 point", "2 points"]);
    }

    #[test]
    fn what_would_drive_the_terminal_is_replaced() {
        let text = "a\x1b[2Jb\r\n\u{9b}c\u{202e}d µ→";
        assert_eq!(plain(text), "a\u{fffd}[2Jb\u{fffd}\u{fffd}\u{fffd}c\u{fffd}d µ→");
        assert_eq!(plain_lines("a\tb\n\r\x07\u{9b}2J\n"), "a\tb\n\u{fffd}\u{fffd}\u{fffd}2J\n");
        assert_eq!((one_line("a\r\nb").as_str(), short("a\tbcd", 3).as_str()), ("a  b", "abc"));
    }

    #[test]
    fn json_reads_as_before_and_drives_nothing() {
        let json = "{\n\t\"µ→\": \"\\u001b\u{7f}\u{9b}2J\u{202e}\"}";
        assert_eq!(escaped(json), "{\n\t\"µ→\": \"\\u001b\\u007f\\u009b2J\\u202e\"}");
    }

    #[test]
    fn lines_are_broken_at_spaces_and_long_words_at_the_end() {
        assert_eq!(wrapped("a bc  def", 4), ["a bc", "def"]);
        assert_eq!(wrapped("a µµµµµ b", 2), ["a", "µµ", "µµ", "µ", "b"]);
        assert_eq!((wrapped("", 9), wrapped("ab", 0)), (vec![], vec!["a".to_owned(), "b".to_owned()]));
    }
}
