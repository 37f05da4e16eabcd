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
    fn what_would_drive_the_terminal_is_replaced() {
        let text = "a\x1b[2Jb\r\n\u{9b}c\u{202e}d µ→";
        assert_eq!(plain(text), "a\u{fffd}[2Jb\u{fffd}\u{fffd}\u{fffd}c\u{fffd}d µ→");
        assert_eq!((one_line("a\r\nb").as_str(), short("a\tbcd", 3).as_str()), ("a  b", "abc"));
    }

    #[test]
    fn lines_are_broken_at_spaces_and_long_words_at_the_end() {
        assert_eq!(wrapped("a bc  def", 4), ["a bc", "def"]);
        assert_eq!(wrapped("a µµµµµ b", 2), ["a", "µµ", "µµ", "µ", "b"]);
        assert_eq!((wrapped("", 9), wrapped("ab", 0)), (vec![], vec!["a".to_owned(), "b".to_owned()]));
    }
}
