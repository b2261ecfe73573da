//! `17/May/2015:10:05:03 +0000`.

use brimful::Nanos;

use super::{Written, offset, two};

const FORM: &str = "the form `17/May/2015:10:05:03 +0000`";
pub(crate) const MONTHS: &[u8; 36] = b"JanFebMarAprMayJunJulAugSepOctNovDec";

/// Reads the time of the common log format; the error is what was expected.
pub(crate) fn common_log(text: &[u8]) -> Result<Nanos, &'static str> {
    let &[
        d1,
        d2,
        b'/',
        m1,
        m2,
        m3,
        b'/',
        y1,
        y2,
        y3,
        y4,
        b':',
        h1,
        h2,
        b':',
        n1,
        n2,
        b':',
        s1,
        s2,
        b' ',
        sign @ (b'+' | b'-'),
        o1,
        o2,
        o3,
        o4,
    ] = text
    else {
        return Err(FORM);
    };
    let number = |tens, ones| two(tens, ones).ok_or(FORM);
    let (day, century, year) = (number(d1, d2)?, number(y1, y2)?, number(y3, y4)?);
    let (hour, minute, second) = (number(h1, h2)?, number(n1, n2)?, number(s1, s2)?);
    let (zone_hour, zone_minute) = (number(o1, o2)?, number(o3, o4)?);
    let month = (1..).zip(MONTHS.chunks(3)).find(|(_, name)| *name == [m1, m2, m3]);
    let Some((month, _)) = month else {
        return Err("one of the months Jan to Dec");
    };
    let year = u16::from(century) * 100 + u16::from(year);
    let east = offset(sign, zone_hour, zone_minute)?;
    Written { year, month, day, hour, minute, second, nanos: 0, east }.point()
}
