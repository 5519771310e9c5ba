//! The lines of a job file, by fio's rules: sections, settings, comments, included files and variables.

use crate::suites::SuiteError;
use std::path::Path;
use std::rc::Rc;

/// Beyond any job file, and read within a second.
const LINES_MAX: usize = 200_000;
/// Includes within includes.
const INCLUDES_MAX: usize = 8;

/// What a job file is read from.
pub trait JobSource {
    /// The text of a file. Errors: why it cannot be read.
    fn text(&self, path: &Path) -> Result<String, String>;
    /// A variable of the environment.
    fn variable(&self, name: &str) -> Option<String>;
}

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JobLine {
    path: Rc<str>,
    line: usize,
    /// Counts through all files.
    pub order: usize,
}

impl JobLine {
    pub(super) fn refuse(&self, message: impl Into<String>) -> SuiteError {
        let (path, line) = (self.path.to_string(), self.line);
        SuiteError::JobFile { path, line, message: message.into() }
    }
}

/// `name=value`, or the name alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JobSetting {
    pub name: String,
    pub value: Option<String>,
    pub at: JobLine,
}

#[derive(Debug)]
pub(super) struct JobSection {
    pub name: String,
    pub at: JobLine,
    pub settings: Vec<JobSetting>,
}

impl JobSection {
    /// fio takes every name that begins so.
    pub(super) fn is_global(&self) -> bool {
        self.name.starts_with("global")
    }
}

pub(super) fn sections(path: &str, source: &dyn JobSource) -> Result<Vec<JobSection>, SuiteError> {
    let mut reader = SectionReader { source, lines: 0, sections: Vec::new() };
    let text = source.text(Path::new(path)).map_err(|why| unreadable(path, &why))?;
    reader.read(path, &text, 0)?;
    Ok(reader.sections)
}

fn unreadable(path: &str, why: &str) -> SuiteError {
    SuiteError::Absurd(format!("cannot read the job file {path}: {why}; name a job file of fio"))
}

struct SectionReader<'s> {
    source: &'s dyn JobSource,
    lines: usize,
    sections: Vec<JobSection>,
}

impl SectionReader<'_> {
    /// `depth`: how many files include this one.
    fn read(&mut self, path: &str, text: &str, depth: usize) -> Result<(), SuiteError> {
        let shared: Rc<str> = path.into();
        for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            self.lines += 1;
            let at = JobLine { path: Rc::clone(&shared), line: index + 1, order: self.lines };
            if self.lines > LINES_MAX {
                return Err(
                    at.refuse(format!("there are more than {LINES_MAX} lines, with includes"))
                );
            }
            let line = line.replace(|c: char| c.is_control() && c != '\t', "");
            let line = without_comment(&line);
            if line.is_empty() {
                continue;
            }
            if let Some(rest) = line.strip_prefix('[') {
                self.begin_section(rest, at, depth)?;
            } else if let Some(("include", file)) = line.split_once(char::is_whitespace) {
                self.include(path, file.trim(), &at, depth)?;
            } else {
                self.add_setting(line, at)?;
            }
        }
        Ok(())
    }

    fn begin_section(&mut self, rest: &str, at: JobLine, depth: usize) -> Result<(), SuiteError> {
        if depth > 0 {
            return Err(
                at.refuse("an included file cannot begin a section; only settings belong there")
            );
        }
        let Some(name) = rest.strip_suffix(']') else {
            return Err(at.refuse(format!("[{rest} lacks its closing bracket")));
        };
        self.sections.push(JobSection { name: name.to_string(), at, settings: Vec::new() });
        Ok(())
    }

    /// The path counts from the current directory, else from the folder of the file that includes it.
    fn include(
        &mut self,
        from: &str,
        file: &str,
        at: &JobLine,
        depth: usize,
    ) -> Result<(), SuiteError> {
        if depth == INCLUDES_MAX {
            let message = format!("includes are nested more than {INCLUDES_MAX} deep");
            return Err(at.refuse(format!("{message}; does {file} include itself?")));
        }
        let beside = Path::new(from).parent().unwrap_or(Path::new("")).join(file);
        let here = self.source.text(Path::new(file)).map(|text| (file.to_string(), text));
        let read = || self.source.text(&beside).map(|text| (beside.display().to_string(), text));
        let (path, text) = here
            .or_else(|_| read())
            .map_err(|why| at.refuse(format!("cannot read the included file {file}: {why}")))?;
        self.read(&path, &text, depth + 1)
    }

    fn add_setting(&mut self, line: &str, at: JobLine) -> Result<(), SuiteError> {
        let Some(section) = self.sections.last_mut() else {
            return Err(at.refuse(format!("{line} stands before any section; begin with [global]")));
        };
        let (name, value) = match line.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim())),
            None => (line, None),
        };
        let value = value.map(|value| expanded(value, self.source, &at)).transpose()?;
        section.settings.push(JobSetting { name: name.to_string(), value, at });
        Ok(())
    }
}

/// A comment begins at any `;` or `#`.
fn without_comment(line: &str) -> &str {
    line.split([';', '#']).next().unwrap_or_default().trim()
}

/// With the variables `${NAME}`. fio takes a missing one as empty, and then measures something else.
fn expanded(value: &str, source: &dyn JobSource, at: &JobLine) -> Result<String, SuiteError> {
    let (mut text, mut rest) = (String::new(), value);
    while let Some((before, (name, after))) =
        rest.split_once("${").and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    {
        let found = source.variable(name).filter(|value| !value.is_empty());
        let found = found.ok_or_else(|| {
            at.refuse(format!("the variable {name} is not set; set it: {name}=… drivescope run …"))
        })?;
        text += before;
        text += &found;
        rest = after;
    }
    Ok(text + rest)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Files by name, and the variable SIZE.
    pub struct Files(BTreeMap<String, String>);

    impl Files {
        pub fn of(files: &[(&str, &str)]) -> Self {
            Self(files.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect())
        }
    }

    impl JobSource for Files {
        fn text(&self, path: &Path) -> Result<String, String> {
            self.0.get(path.to_str().unwrap()).cloned().ok_or("No such file".to_string())
        }
        fn variable(&self, name: &str) -> Option<String> {
            (name == "SIZE").then(|| "64m".to_string())
        }
    }

    fn shown(files: &[(&str, &str)]) -> String {
        let read = sections("jobs/a.fio", &Files::of(files));
        let Ok(sections) = read else { return read.unwrap_err().to_string() };
        let setting = |it: &JobSetting| match &it.value {
            Some(value) => format!("{}={value}@{}", it.name, it.at.line),
            None => format!("{}@{}", it.name, it.at.line),
        };
        let section = |it: &JobSection| {
            let settings = it.settings.iter().map(setting).collect::<Vec<_>>();
            format!("[{}] {}", it.name, settings.join(" "))
        };
        sections.iter().map(section).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn lines_are_read_by_fios_rules() {
        for (text, expected) in [
            ("[a]\nrw=read\nstonewall\n", "[a] rw=read@2 stonewall@3"),
            ("\u{feff}; first\r\n[a]\r\n  bs = 4k ; four\r\n\r\n# x\r\n", "[a] bs=4k@3"),
            (
                "[global] # for all\nsize=${SIZE}\n[b c]\nname=x=y",
                "[global] size=64m@2 [b c] name=x=y@4",
            ),
            ("[a]\nsize=2x${SIZE}0\nname=$x{", "[a] size=2x64m0@2 name=$x{@3"),
            ("[a\nrw=read", "jobs/a.fio:1: [a lacks its closing bracket"),
            (
                "rw=read\n[a]",
                "jobs/a.fio:1: rw=read stands before any section; begin with [global]",
            ),
            (
                "[a]\nsize=${NONE}",
                "jobs/a.fio:2: the variable NONE is not set; set it: NONE=… drivescope run …",
            ),
        ] {
            assert_eq!(shown(&[("jobs/a.fio", text)]), expected, "{text}");
        }
    }

    #[test]
    fn included_settings_belong_to_their_section() {
        let main = ("jobs/a.fio", "[a]\ninclude b.inc\nrw=read");
        assert_eq!(shown(&[main, ("jobs/b.inc", "\nbs=4k")]), "[a] bs=4k@2 rw=read@3");
        assert_eq!(shown(&[main, ("b.inc", "bs=8k")]), "[a] bs=8k@1 rw=read@3");
        let line = shown(&[main]);
        assert_eq!(line, "jobs/a.fio:2: cannot read the included file b.inc: No such file");
        let line = shown(&[main, ("b.inc", "[b]")]);
        assert!(line.starts_with("b.inc:1: an included file cannot begin a section"), "{line}");
        let line = shown(&[main, ("b.inc", "include b.inc")]);
        assert!(line.ends_with("more than 8 deep; does b.inc include itself?"), "{line}");
        let many = "include b.inc\n".repeat(60_000);
        let line =
            shown(&[("jobs/a.fio", &format!("[a]\n{many}")), ("b.inc", "bs=4k\nrw=read\nbs=8k")]);
        assert!(line.contains("more than 200000 lines"), "{line}");
    }
}
