//! The comparison as one JSON object.

use serde::Serialize;

use super::{Admitted, Comparison, Part, Row, advice, bound};

#[derive(Serialize)]
struct Fields<'a> {
    name: &'a str,
    spec: String,
    tokens: u64,
    period_ns: u128,
    capacity: u64,
    algorithms: Vec<AlgorithmFields>,
}

#[derive(Serialize)]
struct AlgorithmFields {
    algorithm: &'static str,
    cannot: Option<String>,
    state: Option<StateFields>,
    at_once: Option<AdmittedFields>,
    in_period: Option<AdmittedFields>,
    formula: &'static str,
    choose: &'static str,
}

#[derive(Serialize)]
struct StateFields {
    bytes: u64,
    slot_bytes: u64,
    log_entries: u64,
    log_entry_bytes: u64,
}

#[derive(Serialize)]
struct AdmittedFields {
    bound: u64,
    measured: u64,
    complete: bool,
    extent_ns: u64,
    parts: Vec<PartFields>,
}

#[derive(Serialize)]
struct PartFields {
    from_ns: u64,
    to_ns: u64,
    tokens: u64,
}

impl Comparison {
    /// One JSON object without a line end. All numbers are exact integers, times are nanoseconds
    /// since the Unix epoch:
    ///
    /// * `name`, `spec`, `tokens`, `period_ns`, `capacity`: the limit, as a token bucket
    /// * `algorithms`: a list of `algorithm`, `cannot` (why the limit cannot be enforced by it; then
    ///   the next three are null, else it is null), `state`, `at_once`, `in_period`, `formula` (of
    ///   the bounds), `choose` (when)
    /// * `state`: `bytes` (of the other three together), `slot_bytes`, `log_entries`,
    ///   `log_entry_bytes`
    /// * `at_once` (within 1 ns) and `in_period` (within less than a period): `bound`, `measured`,
    ///   `complete` (false: stopped early, there may be more), `extent_ns` (from the first to the
    ///   last token that was measured), `parts` (a list of one or two: the first time, and what
    ///   followed) of `from_ns`, `to_ns`, `tokens`
    #[must_use]
    pub fn to_json(&self) -> String {
        let fields = Fields {
            name: self.limit.name(),
            spec: self.limit.to_string(),
            tokens: self.limit.tokens(),
            period_ns: self.limit.period().as_nanos(),
            capacity: self.limit.capacity(),
            algorithms: self.rows.iter().map(row).collect(),
        };
        // Plain structs of numbers and text have nothing that could fail.
        serde_json::to_string(&fields).unwrap_or_default()
    }
}

fn row(row: &Row) -> AlgorithmFields {
    let figures = row.figures.as_ref().ok();
    AlgorithmFields {
        algorithm: row.algorithm.name(),
        cannot: row.figures.as_ref().err().map(ToString::to_string),
        state: figures.map(|figures| StateFields {
            bytes: figures.state.bytes(),
            slot_bytes: figures.state.slot_bytes,
            log_entries: figures.state.log_entries,
            log_entry_bytes: figures.state.log_entry_bytes,
        }),
        at_once: figures.map(|figures| admitted(&figures.at_once)),
        in_period: figures.map(|figures| admitted(&figures.in_period)),
        formula: bound::formula(row.algorithm),
        choose: advice(row.algorithm),
    }
}

fn admitted(admitted: &Admitted) -> AdmittedFields {
    let burst = admitted.measured;
    let part = |part: Part| PartFields {
        from_ns: part.from.as_nanos(),
        to_ns: part.to.as_nanos(),
        tokens: part.tokens,
    };
    AdmittedFields {
        bound: admitted.bound,
        measured: burst.tokens,
        complete: admitted.complete,
        extent_ns: burst.extent_ns(),
        parts: [burst.first].into_iter().chain(burst.rest).map(part).collect(),
    }
}
