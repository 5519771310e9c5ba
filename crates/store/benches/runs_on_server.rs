//! A store of many runs on a PostgreSQL server: how long `runs`, `compare`, `history` and the pages wait for it. Fills
//! a database, which must be a new one, with COPY (20 metrics a run), and leaves it there; a second call measures only:
//!
//! ```sh
//! createdb drivescope_bench
//! DRIVESCOPE_BENCH_STORE=postgres:///drivescope_bench cargo bench -p drivescope-store --features postgres \
//!     --bench runs_on_server -- 100000
//! ```
//!
//! A second number says how many runs a drive has.

#![expect(clippy::print_stdout, reason = "the table is the result")]

use drivescope_model::Run;
use drivescope_store::{Filter, Store, StoreFault, StoreLocation, from_file, init};
use postgres::{Client, NoTls};
use std::io::Write;
use std::time::Instant;

/// Unless a second number says it: 5,000 drives of 50 models have a million.
const RUNS_OF_A_DRIVE: u64 = 200;
const DRIVES_OF_A_MODEL: u64 = 100;
const METRICS: usize = 20;
/// Larger stores have whole documents for every tenth drive.
const WHOLE_MAX: u64 = 200_000;
const REPEATS: usize = 9;
const VARIABLE: &str = "DRIVESCOPE_BENCH_STORE";

fn main() {
    let Ok(named) = std::env::var(VARIABLE) else {
        println!("{VARIABLE} names no server; nothing is measured");
        return;
    };
    let mut numbers = std::env::args().filter_map(|word| word.parse().ok());
    let runs = numbers.next().unwrap_or(100_000);
    let size = Size { runs, of_a_drive: numbers.next().unwrap_or(RUNS_OF_A_DRIVE) };
    let location = StoreLocation::parse(Some(&named)).expect("the variable is an address");
    let missing = Store::open(&location).is_err_and(|error| error.fault == StoreFault::Missing);
    if missing {
        init(&location).expect("the user may make tables");
        let begin = Instant::now();
        fill(&named, size);
        println!("filled in {:.0} s", begin.elapsed().as_secs_f64());
    }
    measure(&location, size);
}

#[derive(Clone, Copy)]
struct Size {
    runs: u64,
    of_a_drive: u64,
}

fn id(number: u64) -> String {
    // In an order of their own, as real ones.
    format!("{:012x}", number.wrapping_mul(0x9e37_79b9_7f4b) & 0xffff_ffff_ffff)
}

/// The example document with some metrics, without the parts that only reports draw.
fn example() -> Run {
    let text = include_str!("../../../docs/examples/run.json");
    let mut run = from_file(text).expect("the example is a run").remove(0);
    for test in &mut run.tests {
        test.series.clear();
        test.distributions.clear();
        test.phases.clear();
        test.metrics.truncate(METRICS);
    }
    run.tests.retain(|test| !test.metrics.is_empty());
    while run.tests.iter().map(|test| test.metrics.len()).sum::<usize>() < METRICS {
        let more = run.tests[0].metrics[0].clone();
        run.tests[0].metrics.push(more);
    }
    run
}

/// The document of [`example`] as COPY takes it, with places for id, start, model and serial number.
fn document() -> String {
    let mut run = example();
    (run.id, run.started_at) = ("(ID)".into(), "(START)".into());
    let drive = run.drive.as_mut().expect("the example has a drive");
    (drive.model, drive.serial) = (Some("(MODEL)".into()), Some("(SERIAL)".into()));
    let value = serde_json::to_value(&run).expect("a run is JSON");
    value.to_string().replace('\\', "\\\\")
}

/// Indexes are made afterwards, as a restored backup does.
fn fill(address: &str, size: Size) {
    fn each(client: &mut Client, sql: String) {
        client.batch_execute(&sql).expect("it is new");
    }
    let mut client = Client::connect(address, NoTls).expect("the address is a socket");
    let facts = facts(&mut client, address, &document());
    client.batch_execute("DELETE FROM places").expect("it is new");
    let indexes = client
        .query(
            "SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index
            WHERE indrelid IN ('runs'::regclass, 'metrics'::regclass) AND NOT indisprimary",
            &[],
        )
        .expect("the tables are there");
    for row in &indexes {
        each(&mut client, format!("DROP INDEX {}", row.get::<_, String>(0)));
    }
    let foreign =
        "ALTER TABLE metrics DROP CONSTRAINT metrics_run_id_fkey, DROP CONSTRAINT metrics_pkey";
    each(&mut client, foreign.to_string());
    copy_runs(&mut client, size, &facts);
    copy_metrics(&mut client, size.runs);
    for row in &indexes {
        each(&mut client, row.get::<_, String>(1));
    }
    each(
        &mut client,
        "ALTER TABLE metrics ADD PRIMARY KEY (run_id, ordinal);
        ALTER TABLE metrics ADD FOREIGN KEY (run_id) REFERENCES runs (id) ON DELETE CASCADE"
            .to_string(),
    );
    each(&mut client, "VACUUM ANALYZE".to_string());
}

/// What a server keeps beside [`document`], as it keeps it of a run that is saved.
fn facts(client: &mut Client, address: &str, document: &str) -> String {
    let location = StoreLocation::parse(Some(address)).expect("the variable is an address");
    let mut store = Store::open(&location).expect("it was just made");
    let run =
        from_file(&document.replace("(ID)", &id(0)).replace("(START)", "2020-01-01T00:00:00Z"))
            .expect("the example is a run")
            .remove(0);
    store.save(&run).expect("the user may write");
    let row = client.query_one("SELECT facts FROM runs", &[]).expect("it was just saved");
    store.remove(&run.id).expect("the user may write");
    row.get::<_, String>(0).replace('\\', "\\\\")
}

fn copy_runs(client: &mut Client, size: Size, facts: &str) {
    let count = size.runs;
    let like = document();
    let mut copy = client
        .copy_in(
            "COPY runs (id, started_at, started_unix_us, elapsed_s, label, suite, target, drive_name, drive_model,
            drive_serial, status, simulated, format, document, host, drive_firmware, facts) FROM STDIN",
        )
        .expect("the columns are there");
    for number in 0..count {
        let drive = number % count.div_ceil(size.of_a_drive);
        let started = 1_577_836_800 + number as i64 * 150;
        let at = jiff::Timestamp::from_second(started).expect("within the calendar").to_string();
        let (id, model) = (id(number), format!("MODEL-{:02}", drive / DRIVES_OF_A_MODEL));
        let serial = format!("SERIAL-{drive:05}");
        // A million whole documents are 8 GB, and no query but for a document reads them.
        let is_short = count > WHOLE_MAX && !drive.is_multiple_of(10);
        let like = if is_short { "{}" } else { &like };
        let document = like.replace("(ID)", &id).replace("(START)", &at);
        let of_drive = |text: &str| text.replace("(MODEL)", &model).replace("(SERIAL)", &serial);
        let (document, facts) = (of_drive(&document), of_drive(facts));
        let label = if number % 50 == 0 { format!("label {}", number / 50) } else { "\\N".into() };
        let host = drive / 24;
        writeln!(
            copy,
            "{id}\t{at}\t{started}000000\t61.5\t{label}\tstandard\t/dev/sd{}\tsd{}\t{model}\t{serial}\tdone\t0\t1\t\
             {document}\track{}-{host}\tFW{}\t{facts}",
            drive % 24,
            drive % 24,
            host / 40,
            drive % 7
        )
        .expect("the server takes it");
    }
    copy.finish().expect("the server takes all");
}

fn copy_metrics(client: &mut Client, count: u64) {
    let run = example();
    let metrics: Vec<_> = run.tests.iter().flat_map(|test| &test.metrics).take(METRICS).collect();
    let mut copy = client.copy_in("COPY metrics FROM STDIN").expect("the table is there");
    for number in 0..count {
        let id = id(number);
        for (ordinal, m) in metrics.iter().enumerate() {
            let value = m.value * (1.0 + (number % 97) as f64 / 1_000.0);
            let (key, unit, valid) = (&m.key, &m.unit, i64::from(m.valid));
            writeln!(copy, "{id}\t{ordinal}\t{key}\t{value}\t{unit}\t{value}\t{value}\t{valid}")
                .expect("the server takes it");
        }
    }
    copy.finish().expect("the server takes all");
}

fn measure(location: &StoreLocation, size: Size) {
    fn limited() -> Filter {
        Filter { limit: Some(100), ..Filter::default() }
    }
    let count = size.runs;
    println!("| {count} runs on a server | ms |\n|---|---|");
    row("opening", || Store::open_existing(location).map(|_| 1));
    let store = Store::open_existing(location).expect("it was just filled");
    let list = |filter: Filter| store.list(&filter).map(|runs| runs.len());
    let serial = format!("SERIAL-{:05}", count / size.of_a_drive / 20 * 10);
    row("the newest 100", || list(limited()));
    row("page 20 of them", || list(Filter { skip: 2_000, ..limited() }));
    row("100 of a model", || list(Filter { drive: Some("model-03".into()), ..limited() }));
    row("those of a drive", || list(Filter { drive: Some(serial.clone()), ..Filter::default() }));
    row("those of a label", || list(Filter { label: Some("Label 77".into()), ..limited() }));
    row("search, in all columns", || list(Filter { text: Some("label 77".into()), ..limited() }));
    row("search, a letter", || list(Filter { text: Some("7".into()), ..limited() }));
    row("count of a search", || {
        let search = Filter { text: Some(serial.clone()), ..limited() };
        store.count(&search).map(|count| count as usize)
    });
    row("count of all", || store.count(&Filter::default()).map(|count| count as usize));
    row("two documents (compare)", || {
        [count / 2, count / 2 + 10]
            .into_iter()
            .map(|n| store.get(&id(n)).map(|run| run.tests.len()))
            .sum()
    });
    row("history of a drive, 20 runs", || {
        store
            .runs_of_drive(&serial, None, 20)
            .map(|found| usize::from(!format!("{found:?}").is_empty()))
    });
    row("history of a name that fits 100 drives", || {
        store
            .runs_of_drive("model-03", None, 20)
            .map(|found| usize::from(!format!("{found:?}").is_empty()))
    });
    let example = example();
    let all = example.tests.iter().flat_map(|test| &test.metrics);
    // Of the suite standard, some ten are compared.
    let keys: Vec<&str> = all.map(|metric| &*metric.key).take(METRICS / 2).collect();
    row("newest figures of all drives (outliers)", || {
        store.measured_drives(&keys).map(|(drives, _)| drives.len())
    });
    row("newest run of each drive", || store.newest_of_drives().map(|runs| runs.len()));
    row("a run by its first digits", || store.whole_id(&id(count / 2)[..9]).map(|id| id.len()));
}

/// Prints the median time of `ask`, which must find something.
fn row<E: std::fmt::Debug>(what: &str, ask: impl Fn() -> Result<usize, E>) {
    let mut times: Vec<f64> = (0..REPEATS)
        .map(|_| {
            let begin = Instant::now();
            assert!(ask().expect("the store can be read") > 0, "{what}");
            begin.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!("| {what} | {:.1} |", times[REPEATS / 2]);
}
