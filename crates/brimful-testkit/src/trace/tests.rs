//! The generators keep their ranges, and never change.

use super::{Keys, SplitMix64, limit, policy, small_limit};
use brimful::{Algorithm, Limit};

#[test]
fn the_generator_is_the_published_one() {
    let mut rng = SplitMix64::new(1_234_567);
    let published = [
        6_457_827_717_110_365_317,
        3_203_168_211_198_807_973,
        9_817_491_932_198_370_423,
        4_593_380_528_125_082_431,
        16_408_922_859_458_223_821,
    ];
    assert_eq!([(); 5].map(|()| rng.next_u64()), published);
}

#[test]
fn numbers_keep_their_ranges() {
    let mut rng = SplitMix64::new(1);
    assert_eq!(rng.below(0), 0);
    assert_eq!(rng.between(7, 7), 7);
    for _ in 0..1_000 {
        assert!(rng.below(3) < 3);
        assert!((5..=9).contains(&rng.between(5, 9)));
        assert!((1..=1_000).contains(&rng.magnitude(1_000)));
        assert_eq!(rng.magnitude(1), 1);
    }
}

#[test]
fn limits_come_from_the_whole_range() {
    let mut rng = SplitMix64::new(2);
    for algorithm in Algorithm::ALL {
        let limits: Vec<Limit> = (0..2_000).map(|_| limit(&mut rng, algorithm)).collect();
        assert!(limits.iter().all(|limit| limit.chosen_algorithm() == algorithm));
        assert!(limits.iter().any(|limit| limit.tokens() == 1));
        let most = if algorithm == Algorithm::SlidingLog { 50_000 } else { 500_000_000_000 };
        assert!(limits.iter().any(|limit| limit.tokens() > most), "{algorithm}");
        assert!(limits.iter().any(|limit| limit.period() > Limit::MAX_PERIOD / 2), "{algorithm}");
        assert!(small_limit(&mut rng, algorithm).period().as_nanos() <= 12);
    }
    assert_eq!(policy(&mut rng, 8).limits().len(), 8);
}

#[test]
fn keys_are_drawn_as_they_should() {
    let mut rng = SplitMix64::new(3);
    for keys in [Keys::Uniform(100), Keys::Zipf(100)] {
        let mut drawn = [0_u32; 100];
        for _ in 0..100_000 {
            drawn[keys.draw(&mut rng) as usize] += 1;
        }
        assert!(drawn.iter().all(|count| *count > 50), "{keys:?}: {drawn:?}");
        let skewed = drawn[0] > 10 * drawn[99];
        assert_eq!(skewed, matches!(keys, Keys::Zipf(_)), "{keys:?}: {drawn:?}");
    }
    assert_eq!(Keys::Zipf(1).draw(&mut rng), 0);
}
