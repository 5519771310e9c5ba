//! Making fresh test data must cost far less than writing it: 5 GB/s per core or more.

use divan::Bencher;
use divan::counter::BytesCount;
use drivescope_bench::io::payload::Payload;

fn main() {
    divan::main();
}

#[divan::bench(args = [4 << 10, 128 << 10, 1 << 20, 8 << 20])]
fn fill(bencher: Bencher<'_, '_>, bytes: usize) {
    let mut buffer = vec![0u8; bytes];
    let mut pass = 0;
    bencher.counter(BytesCount::new(bytes)).bench_local(|| {
        pass += 1;
        Payload::new(1, pass).fill(divan::black_box(&mut buffer), 0);
    });
}

#[divan::bench(args = [1 << 20])]
fn verify(bencher: Bencher<'_, '_>, bytes: usize) {
    let mut buffer = vec![0u8; bytes];
    Payload::new(1, 1).fill(&mut buffer, 0);
    bencher
        .counter(BytesCount::new(bytes))
        .bench_local(|| Payload::first_mismatch(1, divan::black_box(&buffer), 0));
}
