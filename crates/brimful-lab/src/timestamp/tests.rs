use proptest::prelude::*;

use super::*;

/// 2015-05-17T10:05:03Z.
const AT: u64 = 1_431_857_103;

fn ns(text: &str, unit: Option<TimeUnit>) -> Result<u64, &'static str> {
    read(text, unit).map(Nanos::as_nanos)
}

#[test]
fn dates_in_all_forms() {
    const NS: u64 = AT * 1_000_000_000;
    for (text, expected) in [
        ("2015-05-17T10:05:03Z", NS),
        ("2015-05-17t10:05:03z", NS),
        ("2015-05-17 10:05:03Z", NS),
        ("2015-05-17 10:05:03", NS),
        ("2015-05-17T10:05:03", NS),
        ("2015-05-17T12:05:03+02:00", NS),
        ("2015-05-17T12:05:03+0200", NS),
        ("2015-05-17T12:05:03+02", NS),
        ("2015-05-17 12:05:03 +0200", NS),
        ("2015-05-17T05:35:03-04:30", NS),
        ("2015-05-17T10:05:03-00:00", NS),
        ("2015-05-17T10:05:03.5Z", NS + 500_000_000),
        ("2015-05-17T10:05:03,5Z", NS + 500_000_000),
        ("2015-05-17T10:05:03.000000001Z", NS + 1),
        ("2015-05-17T10:05:03.123456789+00:00", NS + 123_456_789),
        ("2015-05-17T10:05:03.1234567890000Z", NS + 123_456_789),
        ("1970-01-01T00:00:00Z", 0),
        ("1969-12-31T23:00:00-01:00", 0),
        ("2262-04-11T23:47:16.854775807Z", i64::MAX as u64),
        ("17/May/2015:10:05:03 +0000", NS),
        ("[17/May/2015:12:05:03 +0200]", NS),
    ] {
        assert_eq!(ns(text, None), Ok(expected), "{text}");
        // The unit is that of numbers.
        assert_eq!(ns(text, Some(TimeUnit::Millis)), Ok(expected), "{text}");
    }
}

#[test]
fn numbers_by_their_size_or_by_the_unit() {
    use TimeUnit::{Micros, Millis, Nanos, Seconds};
    for (text, unit, expected) in [
        ("1431857103", None, AT * 1_000_000_000),
        ("1431857103.25", None, AT * 1_000_000_000 + 250_000_000),
        ("1431857103.123456789", None, AT * 1_000_000_000 + 123_456_789),
        ("1431857103.1234567890", None, AT * 1_000_000_000 + 123_456_789),
        ("1431857103250", None, AT * 1_000_000_000 + 250_000_000),
        ("1431857103250.000001", None, AT * 1_000_000_000 + 250_000_001),
        ("1431857103250001", None, AT * 1_000_000_000 + 250_001_000),
        ("1431857103250000001", None, AT * 1_000_000_000 + 250_000_001),
        ("1431857103250000001.0", None, AT * 1_000_000_000 + 250_000_001),
        // The ends of the sizes.
        ("9223372036", None, 9_223_372_036_000_000_000),
        ("100000000000", None, 100_000_000_000_000_000),
        ("99999999999999", None, u64::MAX),
        ("100000000000000", None, 100_000_000_000_000_000),
        ("99999999999999999", None, u64::MAX),
        ("100000000000000000", None, 100_000_000_000_000_000),
        ("9223372036854775807", None, i64::MAX as u64),
        // Zeros before a number are no part of its size.
        ("0000000000001431857103", None, AT * 1_000_000_000),
        ("0", None, 0),
        ("000", None, 0),
        ("0.000000001", None, 1),
        ("5", Some(Seconds), 5_000_000_000),
        ("5.3", Some(Seconds), 5_300_000_000),
        ("5.3", Some(Millis), 5_300_000),
        ("5.3", Some(Micros), 5_300),
        ("5", Some(Nanos), 5),
        ("5.0", Some(Nanos), 5),
        ("1431857103250", Some(Nanos), 1_431_857_103_250),
    ] {
        let found = ns(text, unit);
        match expected {
            u64::MAX => assert_eq!(found, Err(RANGE), "{text} {unit:?}"),
            _ => assert_eq!(found, Ok(expected), "{text} {unit:?}"),
        }
    }
}

#[test]
fn times_that_are_refused() {
    const ISO: &str = "the form `2015-05-17T10:05:03Z`, with a fraction and an offset as needed";
    for (text, expected) in [
        ("", FORMS),
        ("x", FORMS),
        ("-1", FORMS),
        ("+1", FORMS),
        ("1e9", FORMS),
        ("1.", FORMS),
        (".5", FORMS),
        ("1.2.3", FORMS),
        ("1,5", FORMS),
        (" 1", FORMS),
        ("NaN", FORMS),
        ("inf", FORMS),
        ("May 17 10:05:03", FORMS),
        ("20150517T100503Z", FORMS),
        ("1431857103.1234567891", NANO),
        ("1431857103250.0000001", NANO),
        ("1431857103250000001.5", NANO),
        ("99999999999", RANGE),
        ("9223372036854775808", RANGE),
        ("99999999999999999999999999", RANGE),
        ("2015-05-17", ISO),
        ("2015-05-17T10:05Z", ISO),
        ("2015-05-17T10:05:03.Z", ISO),
        ("2015-05-17T10:05:03 ", ISO),
        ("2015-05-17T10:05:03+2", ISO),
        ("2015-05-17T10:05:03UTC", ISO),
        ("2015-05-17_10:05:03Z", ISO),
        ("2015-5-17T10:05:03Z", ISO),
        ("2015-W20-7T10:05:03Z", ISO),
        ("2015-05-17T10:05:03Z2", ISO),
        ("2015-05-1\u{661}T10:05:03Z", ISO),
        ("2015-02-29T10:05:03Z", CALENDAR),
        ("2015-13-01T10:05:03Z", CALENDAR),
        ("2015-05-17T24:00:00Z", CLOCK),
        ("2015-06-30T23:59:60Z", CLOCK),
        ("2015-05-17T10:05:03+24:00", OFFSET),
        ("2015-05-17T10:05:03+00:60", OFFSET),
        ("2015-05-17T10:05:03.1234567891Z", NANO),
        ("1969-12-31T23:59:59Z", RANGE),
        ("2262-04-11T23:47:16.854775808Z", RANGE),
        ("9999-12-31T23:59:59Z", RANGE),
        ("17/May/2015:10:05:03", "the form `17/May/2015:10:05:03 +0000`"),
        ("[17/May/2015:10:05:03 +0000", "the form `17/May/2015:10:05:03 +0000`"),
    ] {
        assert_eq!(ns(text, None), Err(expected), "{text}");
    }
}

#[test]
fn units_by_name() {
    for (name, unit) in [
        ("at", Some(TimeUnit::Seconds)),
        ("at_s", Some(TimeUnit::Seconds)),
        ("time_ms", Some(TimeUnit::Millis)),
        ("a_b_us", Some(TimeUnit::Micros)),
        ("at_ns", Some(TimeUnit::Nanos)),
        ("ts", None),
        ("ms", None),
        ("items", None),
        ("time_local", None),
        ("", None),
    ] {
        assert_eq!(TimeUnit::of_name(name), unit, "{name}");
    }
    for unit in TimeUnit::ALL {
        assert_eq!(unit.to_string().parse::<TimeUnit>().unwrap(), unit);
    }
    assert!("m".parse::<TimeUnit>().unwrap_err().is_usage());
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        let _ = ns(&text, None);
    }

    #[test]
    fn nearly_good_times_never_panic(
        text in r"\[?[0-9]{1,4}[-/.]([0-9]{2}|May)[-/][0-9]{1,4}[T :]?[0-9]{2}:[0-9]{2}:[0-9]{2}([.,][0-9]{0,12})? ?(Z|[+-][0-9:]{0,6})?\]?"
    ) {
        let _ = ns(&text, None);
    }

    /// Every time is read back from each way to write it.
    #[test]
    fn every_time_is_read_back(at in 0..=Nanos::MAX.as_nanos(), zone in -1439..=1439_i64) {
        let utc = civil::Utc(Nanos::from_nanos(at)).to_string();
        prop_assert_eq!(ns(&utc, None), Ok(at));
        let local = i128::from(at) + i128::from(zone) * 60_000_000_000;
        if let Some(local) = u64::try_from(local).ok().filter(|ns| *ns <= Nanos::MAX.as_nanos()) {
            let local = civil::Utc(Nanos::from_nanos(local)).to_string();
            let (sign, zone) = (if zone < 0 { '-' } else { '+' }, zone.abs());
            let text = format!("{}{sign}{:02}:{:02}", local.trim_end_matches('Z'), zone / 60, zone % 60);
            prop_assert_eq!(ns(&text, None), Ok(at));
        }
        for (unit, per) in TimeUnit::ALL.into_iter().zip([1_000_000_000, 1_000_000, 1_000, 1]) {
            let below = at % per;
            let digits = per.ilog10() as usize;
            let text = format!("{}.{below:0digits$}{}", at / per, if digits == 0 { "0" } else { "" });
            prop_assert_eq!(ns(&text, Some(unit)), Ok(at), "{}", text);
            // From March 1973 on the unit need not be said.
            if at >= 100_000_000_000_000_000 {
                prop_assert_eq!(ns(&text, None), Ok(at), "{}", text);
            }
        }
    }
}
