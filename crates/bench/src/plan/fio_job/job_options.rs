//! The options that a job ends up with: its own over those of the global sections above it.

use super::lines::{JobLine, JobSection, JobSetting};
use super::option_names::{self, OptionFate};
use crate::suites::SuiteError;
use drivescope_model::fio_size;
use drivescope_model::size_split::SizeSplit;
use drivescope_model::units::Bytes;
use std::collections::BTreeMap;

/// Decimal: `kb_base`, unless a job says otherwise.
const KB_BASE: u64 = 1024;

/// Settings by the option's own name.
type Settings = BTreeMap<String, (JobSetting, OptionFate)>;

#[derive(Debug, Clone)]
pub(super) struct JobOptions {
    pub name: String,
    pub at: JobLine,
    settings: Settings,
}

/// All jobs in their order.
pub(super) fn jobs(sections: &[JobSection]) -> Vec<JobOptions> {
    let (mut defaults, mut jobs) = (Settings::new(), Vec::new());
    for section in sections {
        if section.is_global() {
            add(&section.settings, &mut defaults);
            continue;
        }
        let mut settings = defaults.clone();
        add(&section.settings, &mut settings);
        jobs.push(JobOptions { name: section.name.clone(), at: section.at.clone(), settings });
    }
    jobs
}

fn add(settings: &[JobSetting], to: &mut Settings) {
    for setting in settings {
        let (name, fate) = option_names::find(&setting.name);
        to.insert(name.to_string(), (setting.clone(), fate));
    }
}

impl JobOptions {
    /// Errors: an option is unknown or has no equal; the first in the file.
    pub(super) fn check_fates(&self) -> Result<(), SuiteError> {
        let why = |(name, (setting, fate)): (&String, &(JobSetting, OptionFate))| {
            let value = setting.value.as_deref();
            let why = match fate {
                OptionFate::Refused(_, plain) if value.is_some_and(|it| plain.contains(&it)) => {
                    None
                }
                OptionFate::Refused(why, _) => Some(why.to_string()),
                OptionFate::Unknown => Some(option_names::unknown(name)),
                _ => None,
            };
            why.map(|why| (setting.at.order, name.clone(), why))
        };
        let first = self.settings.iter().filter_map(why).min();
        first.map_or(Ok(()), |(_, name, why)| Err(self.refuse(&name, &why)))
    }

    /// Names of this fate.
    pub(super) fn names(&self, fate: OptionFate) -> impl Iterator<Item = &str> {
        let of_fate = self.settings.iter().filter(move |(_, (_, own))| *own == fate);
        of_fate.map(|(name, _)| name.as_str())
    }

    pub(super) fn value(&self, option: &str) -> Option<&str> {
        self.settings.get(option)?.0.value.as_deref()
    }

    /// Where the option is set; the job's first line where it is not.
    pub(super) fn line_of(&self, option: &str) -> &JobLine {
        self.settings.get(option).map_or(&self.at, |(setting, _)| &setting.at)
    }

    /// Which of two options stands later, and so counts.
    pub(super) fn later(&self, one: &'static str, other: &'static str) -> Option<&'static str> {
        let has = |option| self.settings.contains_key(option);
        match (has(one), has(other)) {
            (false, false) => None,
            (true, false) => Some(one),
            (false, true) => Some(other),
            (true, true) if self.line_of(one).order > self.line_of(other).order => Some(one),
            (true, true) => Some(other),
        }
    }

    /// One line that names the job, the line and the option.
    pub(super) fn refuse(&self, option: &str, why: &str) -> SuiteError {
        let Self { name, settings, .. } = self;
        let shown = settings.get(option).map_or(option.to_string(), |(setting, _)| {
            let equals = setting.value.as_ref().map(|value| format!("={value}"));
            setting.name.clone() + equals.as_deref().unwrap_or_default()
        });
        self.line_of(option).refuse(format!("job {name}: {shown} {why}"))
    }

    /// A switch; without a value it is on.
    pub(super) fn is_on(&self, option: &str) -> Result<bool, SuiteError> {
        let Some((setting, _)) = self.settings.get(option) else { return Ok(false) };
        match setting.value.as_deref() {
            None | Some("1") => Ok(true),
            Some("0") => Ok(false),
            Some(_) => Err(self.refuse(option, "is neither 0 nor 1")),
        }
    }

    pub(super) fn count(&self, option: &str, default: u32) -> Result<u32, SuiteError> {
        let Some(text) = self.value(option) else { return Ok(default) };
        text.parse().map_err(|_| self.refuse(option, "is not a whole number"))
    }

    pub(super) fn bytes(&self, option: &str) -> Result<Option<u64>, SuiteError> {
        let Some(text) = self.value(option) else { return Ok(None) };
        let bytes = fio_size::size_bytes(text, self.kb_base()?);
        bytes.map(Some).ok_or_else(|| self.refuse(option, "is not a number of bytes such as 4k"))
    }

    /// Of reads, and of writes.
    pub(super) fn sizes(&self) -> Result<(JobSizes, JobSizes), SuiteError> {
        if let Some(text) = self.value("bssplit") {
            let (read, rest) = text.split_once(',').unwrap_or((text, text));
            let write = rest.split(',').next().unwrap_or(rest);
            return Ok((self.split_sizes(read)?, self.split_sizes(write)?));
        }
        let option = self.later("bs", "bsrange").unwrap_or("bs");
        let text = self.value(option).unwrap_or("4k");
        let text = if option == "bsrange" { self.one_of_range(text)? } else { text };
        let kb_base = self.kb_base()?;
        let of = |is_write| {
            let bytes = fio_size::block_bytes(text, is_write, kb_base);
            bytes.ok_or_else(|| self.refuse(option, "is not a size of requests such as 4k"))
        };
        Ok((JobSizes::One(of(false)?), JobSizes::One(of(true)?)))
    }

    fn one_of_range<'t>(&self, text: &'t str) -> Result<&'t str, SuiteError> {
        let same = text.split_once(['-', ':']).filter(|(low, high)| low == high);
        let why = "has every size between two; name them with their shares (bssplit)";
        same.map(|(low, _)| low).ok_or_else(|| self.refuse("bsrange", why))
    }

    /// `4k/60:64k/40`. As in fio, sizes without a share divide what is left, and the last one has the rest.
    fn split_sizes(&self, text: &str) -> Result<JobSizes, SuiteError> {
        let refuse = |why: &str| self.refuse("bssplit", why);
        let kb_base = self.kb_base()?;
        let mut shares: Vec<(u64, Option<u8>)> = Vec::new();
        for part in text.split(':') {
            let (size, share) = part.split_once('/').unwrap_or((part, ""));
            let bytes = fio_size::size_bytes(size, kb_base);
            let share = if share.is_empty() { Ok(None) } else { share.parse().map(Some) };
            let (Some(bytes), Ok(share)) = (bytes, share) else {
                return Err(refuse("names no sizes with their percentages, such as 4k/60:64k/40"));
            };
            shares.push((bytes, share));
        }
        let named: u32 = shares.iter().filter_map(|(_, share)| *share).map(u32::from).sum();
        let left = 100u32.checked_sub(named).ok_or_else(|| refuse("has more than 100 %"))?;
        let open = shares.iter().filter(|(_, share)| share.is_none()).count() as u32;
        let each = (left / open.max(1)) as u8;
        let mut sizes: Vec<(Bytes, u8)> =
            shares.iter().map(|(bytes, share)| (Bytes(*bytes), share.unwrap_or(each))).collect();
        let rest = 100 - sizes.iter().map(|(_, share)| u32::from(*share)).sum::<u32>();
        if let Some((_, last)) = sizes.last_mut() {
            *last += rest as u8;
        }
        sizes.retain(|(_, share)| *share > 0);
        match sizes[..] {
            [(bytes, _)] => Ok(JobSizes::One(bytes.0)),
            _ => SizeSplit::new(&sizes)
                .map(JobSizes::Split)
                .map_err(|error| refuse(&format!("cannot be: {error}"))),
        }
    }

    /// The pause after each request, µs: fio's unit of a bare number.
    pub(super) fn think_us(&self) -> Result<u32, SuiteError> {
        let Some(text) = self.value("thinktime") else { return Ok(0) };
        let bare = text.trim().parse::<u32>().ok();
        let us = bare.or_else(|| seconds(text).map(|seconds| (seconds * 1e6).round() as u32));
        us.ok_or_else(|| self.refuse("thinktime", "is not a time such as 500, in µs, or 2ms"))
    }

    fn kb_base(&self) -> Result<u64, SuiteError> {
        match self.value("kb_base") {
            None => Ok(KB_BASE),
            Some("1024") => Ok(1024),
            Some("1000") => Ok(1000),
            Some(_) => Err(self.refuse("kb_base", "is neither 1000 nor 1024")),
        }
    }

    pub(super) fn seconds(&self, option: &str) -> Result<Option<f64>, SuiteError> {
        let Some(text) = self.value(option) else { return Ok(None) };
        seconds(text)
            .map(Some)
            .ok_or_else(|| self.refuse(option, "is not a time such as 90, 10m or 500ms"))
    }
}

/// How large the requests of one direction are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JobSizes {
    One(u64),
    Split(SizeSplit),
}

impl JobSizes {
    pub(super) fn mean_bytes(self) -> u64 {
        match self {
            Self::One(bytes) => bytes,
            Self::Split(split) => split.mean().0,
        }
    }
}

/// A time in fio's form: a whole number of seconds, or with a unit, of which `m` are minutes.
fn seconds(text: &str) -> Option<f64> {
    let text = text.trim().to_ascii_lowercase();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let unit_s = match unit.trim() {
        "" | "s" | "sec" => 1.0,
        "d" => 86_400.0,
        "h" => 3_600.0,
        "m" => 60.0,
        "ms" | "msec" => 1e-3,
        "us" | "usec" => 1e-6,
        _ => return None,
    };
    Some(digits.parse::<u32>().ok()? as f64 * unit_s)
}

#[cfg(test)]
mod tests {
    use super::super::lines::{sections, tests::Files};
    use super::*;

    fn read(text: &str) -> Result<Vec<JobOptions>, String> {
        let sections = sections("a.fio", &Files::of(&[("a.fio", text)])).unwrap();
        let jobs = jobs(&sections);
        let checked = jobs.iter().try_for_each(JobOptions::check_fates);
        checked.map(|()| jobs).map_err(|error| error.to_string())
    }

    fn one(settings: &str) -> JobOptions {
        read(&format!("[a]\n{settings}")).unwrap().remove(0)
    }

    #[test]
    fn global_sections_count_for_the_jobs_below() {
        fn of(job: &JobOptions) -> (u64, u32) {
            let (JobSizes::One(read), _) = job.sizes().unwrap() else { panic!("one size") };
            (read, job.count("iodepth", 1).unwrap())
        }
        let all = read("[global]\nbs=4k\n[a]\nbs=8k\n[global]\niodepth=2\n[b]\n").unwrap();
        assert_eq!((of(&all[0]), of(&all[1])), ((8192, 1), (4096, 2)));
    }

    #[test]
    fn refused_options_name_job_line_and_reason() {
        for (text, message) in [
            (
                "[a]\nrunetime=1",
                "a.fio:2: job a: runetime=1 is not an option that drivescope knows (did",
            ),
            (
                "[global]\nverify=md5\n[b]",
                "a.fio:2: job b: verify=md5 checks data; --test verify does",
            ),
            ("[b]\nthinktime_spin=9", "a.fio:2: job b: thinktime_spin=9 keeps a processor busy;"),
            ("[b]\nnrfiles=2\nbuffer_pattern=1", "a.fio:2: job b: nrfiles=2 names several files"),
            ("[b]\n\nexitall", "a.fio:3: job b: exitall has no equal here"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.starts_with(message), "{error}");
        }
        assert!(
            read("[global]\nverify=md5\n[b]\nverify=0\nthinktime=9\nthinktime_blocks=1").is_ok()
        );
    }

    #[test]
    fn quantities_follow_fio() {
        fn sizes(text: &str) -> Result<(JobSizes, JobSizes), String> {
            one(text).sizes().map_err(|error| error.to_string())
        }
        for (text, (read, write)) in [
            ("", (4096, 4096)),
            ("bs=4k,8k", (4096, 8192)),
            ("kb_base=1000\nbs=4k", (4000, 4000)),
            ("bsrange=2k-2k", (2048, 2048)),
            ("bsrange=2k-4k\nbs=1m", (1 << 20, 1 << 20)),
            ("bs=1m\nbssplit=16k/100", (16_384, 16_384)),
        ] {
            assert_eq!(sizes(text), Ok((JobSizes::One(read), JobSizes::One(write))), "{text}");
        }
        for text in
            ["bs=x", "bsrange=2k-4k", "bssplit=4k/x:8k/50", "bssplit=4k/90:8k/50", "kb_base=7"]
        {
            assert!(sizes(text).unwrap_err().starts_with("a.fio:2: job a: "), "{text}");
        }
        for (text, s) in
            [("90", 90.0), ("10m", 600.0), ("500ms", 0.5), ("2H", 7200.0), ("250 usec", 250e-6)]
        {
            assert_eq!(seconds(text), Some(s), "{text}");
        }
        assert!(["1.5", "x", "", "1:30", "-1", "5 min"].iter().all(|text| seconds(text).is_none()));
    }

    #[test]
    fn switches_are_on_without_a_value() {
        fn on(text: &str) -> Result<bool, String> {
            one(text).is_on("time_based").map_err(|error| error.to_string())
        }
        assert_eq!(on("time_based"), Ok(true));
        assert_eq!((on("time_based=0"), on("")), (Ok(false), Ok(false)));
        assert!(on("time_based=yes").unwrap_err().contains("time_based=yes is neither 0 nor 1"));
        let later = one("rwmixwrite=20\nrwmixread=70").later("rwmixread", "rwmixwrite");
        assert_eq!(later, Some("rwmixread"));
    }
}
