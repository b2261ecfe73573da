//! What observers take of memory.

mod common;

use allocation_counter::measure;
use brimful::Key;
use brimful_observe::{Counters, Event, Observer, Outcome, Redact, TopKeys};
use common::Numbers;

#[test]
fn counting_a_known_name_allocates_nothing() {
    let counters = Counters::new();
    counters.declare("api", "default");
    let counted = measure(|| {
        for cost in 0..1_000 {
            let outcome = Outcome::ALL[cost as usize % Outcome::ALL.len()];
            counters.observe(&Event::new("api", "default", outcome).cost(cost));
        }
    });
    assert_eq!(counted.count_total, 0);
    assert_eq!(counters.snapshot().iter().map(|count| count.requests).sum::<u64>(), 1_000);
}

#[test]
fn names_beyond_the_bound_take_no_memory() {
    let counters = Counters::with_max_series(10);
    let count = |range: std::ops::Range<u32>| {
        let names: Vec<String> = range.map(|name| name.to_string()).collect();
        measure(|| {
            for name in &names {
                counters.observe(&Event::new(name, name, Outcome::Denied));
            }
        })
    };
    assert!(count(0..11).count_total > 0);
    assert_eq!(count(11..100_000).count_total, 0);
}

/// Whatever keys come, nothing is allocated after construction, and what was is in proportion to `k`.
#[test]
fn memory_is_taken_once() {
    for (redact, most) in
        [(Redact::Hash, 170), (Redact::Truncate { chars: 8 }, 236), (Redact::Plain, 236)]
    {
        // (Some of them fill the tables that they are kept in.)
        for k in [1, 64, 448, 7_168, 10_000] {
            let mut built = None;
            let taken = measure(|| built = TopKeys::new(k, redact).ok());
            let top = built.unwrap();
            let mut numbers = Numbers(7);
            let keys: Vec<Vec<u8>> =
                (0..3 * k).map(|_| vec![b'x'; numbers.below(200) as usize]).collect();
            let counted = measure(|| {
                for (key, number) in keys.iter().zip(0_u64..) {
                    let parts = [Key::Bytes(key), Key::Unsigned(number.into())];
                    for key in [Key::Parts(&parts), Key::Unsigned(0)] {
                        top.observe(&Event::new("api", "default", Outcome::Denied).key(key));
                    }
                }
            });
            assert_eq!(counted.count_total, 0, "{redact:?}, {k} entries");
            assert_eq!(top.take().total, 6 * k as u64);
            let bytes = taken.bytes_total / k as u64;
            println!("{redact:?}, {k} entries: {} bytes, {bytes} each", taken.bytes_total);
            assert!(k == 1 || bytes <= most, "{redact:?}: {bytes} bytes an entry");
        }
    }
}
