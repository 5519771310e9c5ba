//! What a run says of the price: how much of it each terabyte and each request costs.

use crate::comparison::side_by_side::{RATE_MB_S, REQUESTS, per_rate, per_reads, per_terabyte};
use crate::terminal::{Paragraph, Role, Style};
use drivescope_model::number::{rounded, whole};
use drivescope_model::{Bytes, Run};

/// `price  105 USD for 4.00 TB · 26.3 USD per TB · 58.9 USD per 100 MB/s read · 525 USD per 1,000 random reads/s`;
/// nothing without a price.
pub fn price(run: &Run, style: Style) -> String {
    let Some(price) = &run.price else { return String::new() };
    let of = |amount: f64| format!("{} {}", rounded(amount), price.currency);
    let capacity = run.drive.as_ref().map(|drive| drive.capacity_bytes).filter(|&bytes| bytes > 0);
    let whole_drive = capacity.map_or(String::new(), |bytes| format!(" for {}", Bytes(bytes)));
    let parts = [
        (per_terabyte(run, price), "TB".to_string()),
        (per_rate(run, price), format!("{RATE_MB_S} MB/s read")),
        (per_reads(run, price), format!("{} random reads/s", whole(REQUESTS))),
    ];
    let prices =
        parts.iter().filter_map(|(amount, what)| Some(format!("{} per {what}", of((*amount)?))));
    Paragraph::new()
        .lead(Role::Title, "price")
        .lead(Role::Plain, "  ")
        .item(Role::Plain, format!("{price}{whole_drive}"))
        .items(Role::Plain, prices)
        .lines(7, style)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{hard_disk, one_line};
    use drivescope_model::document::TestResult;
    use drivescope_model::units::Price;

    fn price_text(run: &Run) -> String {
        price(run, Style::PLAIN)
    }

    #[test]
    fn price_is_shown_per_terabyte_and_request() {
        let mut run = hard_disk();
        assert_eq!(price_text(&run), "");
        run.price = Some(Price { amount: 105.0, currency: "USD".into() });
        let capacity = run.drive.as_ref().unwrap().capacity_bytes as f64;
        let reads = run.metric("transfer.rnd4k_q32t1.read.iops").unwrap().value;
        let per_tb = rounded(105.0 / capacity * 1e12);
        let in_order = run.metric("transfer.seq1m_q8t1.read.mb_s").unwrap().value;
        let per_rate = rounded(105.0 / in_order * 100.0);
        let per_read = rounded(105.0 / reads * 1e3);
        // An item that begins a line has no dot before it.
        let all = one_line(&price_text(&run).replace('·', ""));
        let expected = format!(
            "price 105 USD for 4.00 TB {per_tb} USD per TB {per_rate} USD per 100 MB/s read \
             {per_read} USD per 1,000 random reads/s"
        );
        assert_eq!(all, expected);
        // Invalid values do not describe the drive, so they have no part in its price.
        let invalid = |result: &mut TestResult| {
            result.metrics.iter_mut().for_each(|metric| metric.valid = false);
        };
        run.tests.iter_mut().for_each(invalid);
        run.drive = None;
        assert_eq!(price_text(&run), "price  105 USD\n");
    }
}
