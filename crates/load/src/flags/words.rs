//! The words of a command line, and how far they are read.

/// Words, of which a flag takes its values.
#[derive(Default)]
pub(crate) struct Words {
    words: Vec<String>,
    at: usize,
    /// What is left of the flag's own word.
    pub(super) own: Option<String>,
    /// Whether that is letters of further flags, unless it is a value.
    pub(super) letters: bool,
    /// The flag that was found.
    pub(super) name: String,
    /// How it is to be written.
    pub(super) form: String,
    /// What was taken since.
    pub(super) taken: Vec<String>,
}

impl Words {
    /// Those behind a program's name; `help` alone asks for help in any program.
    pub(crate) fn new(arguments: &[String]) -> Self {
        let words = if arguments == ["help"] { vec!["-h".to_owned()] } else { arguments.to_vec() };
        Self { words, ..Self::default() }
    }

    /// Those that a flag took, to be taken again.
    pub(super) fn again(values: &[String]) -> Self {
        let mut words = values.iter().cloned();
        Self { own: words.next(), words: words.collect(), ..Self::default() }
    }

    /// The next word.
    pub(super) fn next(&mut self) -> Option<String> {
        let word = self.words.get(self.at).cloned();
        self.at += usize::from(word.is_some());
        word
    }

    /// A value, which must be there.
    pub(crate) fn value(&mut self) -> Result<String, String> {
        let value = self.own.take().or_else(|| self.next()).ok_or_else(|| format!("no value; give {}", self.form))?;
        self.taken.push(value.clone());
        Ok(value)
    }

    /// A value if it stands in the flag's own word, or begins with a digit; else it is empty.
    pub(super) fn perhaps(&mut self) -> String {
        let own = self.own.is_some();
        self.take_if(|word| own || word.starts_with(|c: char| c.is_ascii_digit())).unwrap_or_default()
    }

    /// The next value if it is as wanted.
    pub(crate) fn take_if(&mut self, wanted: impl FnOnce(&str) -> bool) -> Option<String> {
        let next = self.own.as_ref().or_else(|| self.words.get(self.at))?;
        if wanted(next) { self.value().ok() } else { None }
    }

    /// Puts words before those that are left.
    pub(crate) fn insert(&mut self, more: Vec<String>) {
        self.words.splice(self.at..self.at, more);
    }
}
