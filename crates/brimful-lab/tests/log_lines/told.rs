//! How a log is to be read.

use std::time::Duration;

use brimful::{Overflow, Policy};
use brimful_lab::{Format, Replay, Template, TimeUnit};
use brimful_testkit::fuzz::Bytes;

const POLICIES: [&[&str]; 8] = [
    &["3/s"],
    &["10/min burst 20"],
    &["2/s fixed-window"],
    &["3 per 10s sliding-log"],
    &["4/min sliding-window"],
    &["2/s", "5/min burst 7", "20/h"],
    &["3/s sliding-log", "6/min burst 8", "9/h fixed-window"],
    &["blocked"],
];
const TEMPLATES: [&str; 6] = [
    "{key}",
    "{remote_addr}",
    "{method} {path}?{query}",
    "{user.id}/{a.b}",
    "{virtual_host}:{status}:{user_agent}",
    "{{{request}}} {referer}|{remote_user}",
];
const FIELDS: [&str; 5] = ["at", "time", "n", "body_bytes_sent", "a.b"];

/// The options of a replay.
pub(super) struct Told {
    pub(super) replay: Replay,
    pub(super) policy: Policy,
    pub(super) format: Option<Format>,
    pub(super) span: Option<Duration>,
    pub(super) top: u64,
    /// Nothing was said about the fields, so that a line means what its format says.
    pub(super) is_usual: bool,
}

impl Told {
    pub(super) fn read(bytes: &mut Bytes<'_>) -> Self {
        let (first, second, third) = (bytes.byte(), bytes.byte(), bytes.byte());
        let specs = POLICIES[usize::from(third) % POLICIES.len()];
        let policy = brimful_lab::policy(specs, None).expect("a good policy");
        let overflow = Overflow::ALL[usize::from(third >> 3) % Overflow::ALL.len()];
        let top = u64::from(third >> 6);
        let max_keys = if first & 4 == 0 { 100 } else { 2 };
        let mut replay = Replay::new(policy.clone()).max_keys(max_keys).overflow(overflow).top(top);
        let format = [None, Some(Format::Combined), Some(Format::Jsonl), Some(Format::Csv)]
            [usize::from(first % 4)];
        if let Some(format) = format {
            replay = replay.format(format);
        }
        let span = match first >> 3 & 7 {
            0 => Some(Duration::ZERO),
            1 => Some(Duration::from_secs(1)),
            2 => Some(Duration::MAX),
            _ => None,
        };
        if let Some(span) = span {
            replay = replay.reorder(span);
        }
        if first & 0x40 != 0 {
            replay = replay.max_held(2);
        }
        let is_usual = second & 1 == 0;
        if !is_usual {
            replay = fields(replay, second);
        }
        Self { replay, policy, format, span, top, is_usual }
    }
}

/// Says where the key, the time or the cost is.
fn fields(mut replay: Replay, choice: u8) -> Replay {
    let template: Template =
        TEMPLATES[usize::from(choice >> 1) % TEMPLATES.len()].parse().expect("a template");
    replay = replay.key(template);
    if choice & 0x10 != 0 {
        replay = replay.time_field(FIELDS[usize::from(choice >> 5) % FIELDS.len()]);
    }
    if choice & 0x20 != 0 {
        replay = replay.cost_field(FIELDS[usize::from(choice >> 3) % FIELDS.len()]);
    }
    if choice & 0x80 != 0 {
        replay = replay.time_unit(TimeUnit::ALL[usize::from(choice >> 2) % TimeUnit::ALL.len()]);
    }
    replay
}
