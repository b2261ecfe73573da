//! Numbers as people read them, without floats.

use brimful::Limit;

/// A quotient with one decimal, rounded down: `11.5`.
pub(crate) fn tenths(number: u128, divisor: u128) -> String {
    let tenths = number.saturating_mul(10).checked_div(divisor).unwrap_or(0);
    let (whole, tenth) = (tenths / 10, tenths % 10);
    if tenth == 0 { whole.to_string() } else { format!("{whole}.{tenth}") }
}

/// The rate of a limit in a second, with three digits that count: `0.0116/s`, `1.67/s`, `250/s`. A rate
/// has at most 16 decimals: no limit has less than one token a year.
pub(crate) fn per_second(limit: &Limit) -> String {
    const DECIMALS: u32 = 16;
    const SECOND: u128 = 1_000_000_000;
    let one = 10_u128.pow(DECIMALS);
    // At most 10^12 * 10^9 * 10^16: below 2^127.
    let scaled = u128::from(limit.tokens()).saturating_mul(SECOND).saturating_mul(one);
    let scaled = scaled.checked_div(limit.period().as_nanos()).unwrap_or(0);
    let digits = scaled.checked_ilog10().unwrap_or(0).saturating_add(1);
    // Digits before the decimal point all count.
    let dropped = digits.saturating_sub(3).min(DECIMALS);
    let unit = 10_u128.pow(dropped);
    let rounded = scaled.saturating_add(unit / 2) / unit * unit;
    let fraction = format!("{:016}", rounded % one);
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{}{point}{fraction}/s", rounded / one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_three_digits_that_count() {
        let cases = [
            ("1/year", "0.0000000317/s"),
            ("1000/day", "0.0116/s"),
            ("100/min", "1.67/s"),
            ("1 per 4000s", "0.00025/s"),
            ("1234567/s", "1234567/s"),
            ("999999 per 100s", "10000/s"),
        ];
        for (limit, expected) in cases {
            let limit: Limit = limit.parse().unwrap();
            assert_eq!(per_second(&limit), expected, "{limit}");
        }
        let fastest = Limit::new(1_000_000_000_000, std::time::Duration::from_secs(1000)).unwrap();
        assert_eq!(per_second(&fastest), "1000000000/s");
    }

    #[test]
    fn a_quotient_has_one_decimal() {
        assert_eq!(tenths(23, 2), "11.5");
        assert_eq!(tenths(20, 2), "10");
        assert_eq!(tenths(1, 3), "0.3");
        assert_eq!(tenths(1, 0), "0");
    }
}
