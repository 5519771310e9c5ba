//! The shared clock on a device whose truth is known.

use super::*;
use drivescope_sim::device::SimDevice;
use drivescope_sim::fake_capacity::FakeKind;

/// Serves one request after the other, 1 ms each; offsets beyond 1 GiB cannot be read.
#[derive(Default)]
struct Serial {
    free_at: Nanos,
    pending: Vec<SimCompletion>,
    served: u64,
}

const MS: Nanos = 1_000_000;

impl SimDevice for Serial {
    fn capacity_bytes(&self) -> u64 {
        1 << 40
    }
    fn sector_bytes(&self) -> u32 {
        512
    }
    fn submit(&mut self, now: Nanos, request: SimRequest) {
        self.free_at = self.free_at.max(now) + MS;
        let outcome =
            if request.offset > 1 << 30 { SimOutcome::MediaError } else { SimOutcome::Done };
        self.pending.push(SimCompletion { id: request.id, at: self.free_at, outcome });
        self.served += 1;
    }
    fn next_completion(&mut self) -> Option<Nanos> {
        self.pending.first().map(|completion| completion.at)
    }
    fn advance(&mut self, to: Nanos, done: &mut Vec<SimCompletion>) {
        done.extend(self.pending.extract_if(.., |completion| completion.at <= to));
    }
}

fn drive() -> SimulatedDrive {
    SimulatedDrive::new(Box::new(Serial::default()))
}

#[test]
fn time_jumps_to_the_next_completion() {
    let drive = drive();
    drive.begin(4);
    let mut answers = Vec::new();
    drive.submit(IoMode::Direct, IoOp::Read, 0, 4096, 0);
    drive.submit(IoMode::Direct, IoOp::Write, 1 << 31, 4096, 1);
    drive.wait_until(Nanos::MAX, &mut answers);
    assert_eq!((drive.now(), answers.as_slice()), (MS, &[(0, 4096)][..]));
    answers.clear();
    drive.wait_until(Nanos::MAX, &mut answers);
    assert_eq!((drive.now(), answers[0]), (2 * MS, (1, -Errno::IO.raw_os_error())));
    drive.end();
}

#[test]
fn a_deadline_comes_before_a_later_completion() {
    let drive = drive();
    drive.begin(1);
    let mut answers = Vec::new();
    drive.wait_until(5 * MS, &mut answers);
    assert_eq!((drive.now(), answers.len()), (5 * MS, 0));
    drive.submit(IoMode::Direct, IoOp::Sync, 0, 0, 0);
    drive.wait_until(5 * MS + 10, &mut answers);
    assert_eq!((drive.now(), answers.len()), (5 * MS + 10, 0));
    drive.end();
    assert_eq!(drive.now(), 6 * MS, "what was in flight is waited for");
    drive.idle_until(9 * MS);
    assert_eq!(drive.now(), 9 * MS);
}

#[test]
fn stream_moves_the_clock_of_an_idle_drive() {
    let drive = drive();
    assert_eq!(drive.stream_write(0, 8192, 4096, 1), Some(2 * MS));
    assert_eq!(drive.now(), 2 * MS);
    drive.begin(1);
    assert_eq!(drive.stream_write(0, 8192, 4096, 1), None, "in use");
    drive.end();
    drive.keep_contents();
    assert_eq!(drive.stream_write(0, 8192, 4096, 1), None, "a stream carries no data");
    let faulty = self::drive().with_faults();
    assert_eq!(faulty.stream_write(0, 8192, 4096, 1), None, "a loop must say what failed");
}

#[test]
fn contents_are_kept_when_asked_for() {
    let drive = drive();
    let mut data = [9; 512];
    drive.store(0, &[1; 512]);
    drive.fetch(0, &mut data);
    assert_eq!(data, [9; 512]);
    drive.keep_contents();
    drive.store(0, &[1; 512]);
    drive.fetch(0, &mut data);
    assert_eq!(data, [1; 512]);
    let fake = FakeCapacity { fraud: FakeKind::Wrap, real_bytes: 4096, cache_bytes: 0 };
    let drive = SimulatedDrive::new(Box::new(Serial::default())).with_fake(fake);
    drive.store(4096, &[2; 512]);
    drive.fetch(0, &mut data);
    assert_eq!(data, [2; 512]);
}
