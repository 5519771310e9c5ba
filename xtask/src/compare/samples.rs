//! Processor time in user mode by samples of `perf`. The kernel's own figure is made of ticks of 4 ms, and a program
//! that waits for a drive nearly all the time gets few of them; a timer of its own gives 50 times as many samples.
//!
//! An interrupt that comes while the kernel has them off, as it has at the end of a system call, waits, and is taken at
//! the first instruction after the call. Its time was the kernel's, so it does not count. `syscall` leaves the address
//! of that instruction in rcx (AMD64 Architecture Programmer's Manual, volume 3), and the kernel leaves it there.

use super::Measurement;
use std::path::Path;
use std::process::{Command, Output};

/// Samples per second of processor time.
const RATE_HZ: u32 = 12_000;
/// Not sampled: the program's start.
const DELAY_S: f64 = 1.5;
/// And as much at its end.
const SHORTEST_S: f64 = 2.0 * DELAY_S + 1.0;
/// Addresses of the kernel begin here on every machine with 64 bits.
const KERNEL_FROM: u64 = 1 << 63;
/// The register with the return address of a system call; only x86 has it.
const REGISTERS: &[&str] = if cfg!(target_arch = "x86_64") { &["--intr-regs=cx"] } else { &[] };
const FIELDS: &str =
    if cfg!(target_arch = "x86_64") { "time,period,ip,iregs" } else { "time,period,ip" };

/// Runs a program that measures. Gives its output, and how many nanoseconds of processor time it took in user mode in
/// each second. Errors: no perf here, or too short.
pub fn run(program: &Path, args: &[String], each: Measurement) -> Result<(Output, f64), String> {
    fn say(error: std::io::Error) -> String {
        format!("cannot start perf, which Debian has as linux-perf: {error}")
    }
    let seconds = each.ramp_s + each.seconds;
    if seconds < SHORTEST_S {
        return Err(format!("--perf needs --ramp and --time of {SHORTEST_S} together"));
    }
    let folder = tempfile::tempdir().map_err(|e| format!("cannot make a folder: {e}"))?;
    let data = folder.path().join("samples");
    let mut record = Command::new("perf");
    record.args(["record", "--quiet", "--event", "cpu-clock", "--freq", &RATE_HZ.to_string()]);
    record.args(REGISTERS);
    record.args(["--delay", &((DELAY_S * 1e3) as u32).to_string(), "--output"]).arg(&data);
    let output = record.arg("--").arg(program).args(args).output().map_err(say)?;
    let mut script = Command::new("perf");
    script.args(["script", "--fields", FIELDS, "--input"]).arg(&data);
    let samples = script.output().map_err(say)?;
    let text = String::from_utf8_lossy(&samples.stdout);
    let user = user_ns_per_s(&text, seconds - 2.0 * DELAY_S).map_err(|error| {
        let said = [&output.stderr, &samples.stderr].map(|text| String::from_utf8_lossy(text));
        format!("{error}; perf said: {}", said.concat().trim())
    })?;
    Ok((output, user))
}

/// One line of `perf script`.
struct Sample {
    time_s: f64,
    period_ns: u64,
    is_user: bool,
}

impl Sample {
    /// Parses `time: period address`, with or without ` ABI:2 CX:0x…`.
    fn read(line: &str) -> Option<Self> {
        let mut fields = line.split_whitespace();
        let time_s = fields.next()?.trim_end_matches(':').parse().ok()?;
        let period_ns = fields.next()?.parse().ok()?;
        let address = u64::from_str_radix(fields.next()?, 16).ok()?;
        let register = fields.find_map(|field| field.strip_prefix("CX:0x"));
        let behind_call = register.and_then(|cx| u64::from_str_radix(cx, 16).ok());
        let is_user = address < KERNEL_FROM && behind_call != Some(address);
        Some(Self { time_s, period_ns, is_user })
    }
}

/// From the samples of the first `window_s`. Errors: none, or a line that is not a sample.
fn user_ns_per_s(script: &str, window_s: f64) -> Result<f64, String> {
    let mut begin_s = None;
    let mut user_ns = 0;
    for line in script.lines() {
        let sample = Sample::read(line).ok_or_else(|| format!("not a sample: '{line}'"))?;
        let within = sample.time_s - *begin_s.get_or_insert(sample.time_s) < window_s;
        user_ns += if within && sample.is_user { sample.period_ns } else { 0 };
    }
    begin_s.map(|_| user_ns as f64 / window_s).ok_or_else(|| "no samples".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_the_program_within_the_window_count() {
        let script = "  7.100000:  83333  55d2c0a1b2f0\n  7.200000:  83333  ffffffff81e00a5c\n  \
                      8.000000:  83333  7ffd0a1c5a10\n  9.200000:  83333  55d2c0a1b2f0\n";
        assert_eq!(user_ns_per_s(script, 2.0), Ok(83_333.0));
        assert_eq!(user_ns_per_s("", 2.0), Err("no samples".into()));
        let cut = "  7.100000:  83333  55d2c0a1b2f0\n  7.2";
        assert_eq!(user_ns_per_s(cut, 2.0), Err("not a sample: '  7.2'".into()));
    }

    #[test]
    fn sample_after_system_call_is_the_kernels() {
        let script = "  7.1:  83333  55d2c0a1b2f0 ABI:2    CX:0x55d2c0a1b2f0 \n  \
                      7.2:  83333  55d2c0a1b2f4 ABI:2    CX:0x55d2c0a1b2f0 \n  \
                      7.3:  83333  ffffffff81e00a5c ABI:2    CX:0x1 \n";
        assert_eq!(user_ns_per_s(script, 1.0), Ok(83_333.0));
    }
}
