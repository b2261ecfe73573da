"""The store: which sets a key can be in, who owes least, and when entries are found in time."""

from arith import order, quotient_is, strict_order
from book import claim, proof, whole
from formulas import scale, share
from source import computed_by, quoted, rust
from z3 import And, If, Implies, Not

HASH, COUNT, OTHER = whole("hash count other")
SETS = [0 <= HASH, HASH < 2**64, 1 <= COUNT, COUNT < 2**64]
OWED, OF = whole("owed of")


@rust("store/room.rs: Store::second", "let first = scale(fingerprint, sets);",
      "let second = scale(fingerprint.rotate_left(32), sets);",
      "true if second + 1 < sets => second + 1", "true => 0", "false => second")
def second(first, other, count):
    """The second set, where `other` is the scaled other half."""
    return If(first == other, If(other + 1 < count, other + 1, 0), other)


@proof
def a_hash_names_a_set_that_is_there():
    """The index is below the count, and its product needs no more than 128 bits."""
    index = scale(HASH, COUNT)
    return claim(
        given=SETS,
        goal=[0 <= index, index < COUNT, HASH * COUNT < 2**128],
        using=[strict_order(COUNT, HASH, 2**64)],
    )


@proof
def every_set_has_its_hashes():
    """The smallest hash of a set's is a hash, and names that set."""
    first = (OTHER * 2**64 + COUNT - 1) / COUNT
    return claim(
        given=[1 <= COUNT, COUNT < 2**64, 0 <= OTHER, OTHER < COUNT],
        goal=[0 <= first, first < 2**64, scale(first, COUNT) == OTHER],
        using=[strict_order(COUNT, first, 2**64), order(COUNT, 2**64, first)],
    )


@proof
def larger_hashes_name_no_lower_sets():
    """So the hashes of a set are neighbours, and their numbers differ by one at most between sets.
    """
    return claim(
        given=[*SETS, HASH <= OTHER, OTHER < 2**64],
        goal=scale(HASH, COUNT) <= scale(OTHER, COUNT),
        using=[order(COUNT, HASH, OTHER)],
    )


@proof
def a_key_has_two_sets():
    """The second set is there, and another than the first whenever there are two."""
    first, other = whole("first other_half")
    found = second(first, other, COUNT)
    return claim(
        given=[1 <= COUNT, 0 <= first, first < COUNT, 0 <= other, other < COUNT],
        goal=[0 <= found, found < COUNT, Implies(COUNT >= 2, found != first)],
    )


@proof
def a_share_is_the_fraction_rounded_down():
    """In units of 2^-32: at most the fraction, and less than one unit below it."""
    units = share(OWED, OF)
    return claim(
        given=[OF >= 1, OWED >= 0],
        goal=[units * OF <= OWED * 2**32, OWED * 2**32 < (units + 1) * OF, units >= 0,
              Implies(OWED <= OF, units <= 2**32), Implies(OWED == OF, units == 2**32)],
        using=[quotient_is(OWED * 2**32, OF, 2**32), strict_order(OF, 2**32, units)],
    )


@proof
def who_owes_a_larger_fraction_by_a_unit_is_shielded():
    """Of two debts, one whose fraction is larger by 2^-32 or more has the larger share."""
    owed, of = whole("other_owed other_of")
    one, two = share(OWED, OF), share(owed, of)
    # owed / of >= OWED / OF + 2^-32, with the fractions multiplied out.
    ahead = owed * 2**32 * OF >= OWED * 2**32 * of + of * OF
    return claim(
        given=[OF >= 1, of >= 1, OWED >= 0, owed >= 0, ahead],
        goal=one < two,
        using=[order(of, one * OF, OWED * 2**32), order(OF, owed * 2**32, (two + 1) * of - 1),
               order(of * OF, two, one)],
    )


@proof
def shares_keep_the_order_of_debts():
    """Of two debts of one limit the larger has no smaller share."""
    return claim(
        given=[OF >= 1, 0 <= OWED, OWED <= OTHER],
        goal=share(OWED, OF) <= share(OTHER, OF),
    )


TIDY = quoted("store/sweep.rs: Store::tidy", "for _ in 0..taken {",
              "arena.used() > arena.room()",
              "let hand = self.hand.fetch_add(1, Ordering::Relaxed);")
ROOM = quoted("algorithm/arena.rs: Arena::room",
              "usize::try_from(self.capacity.saturating_sub(self.used)).unwrap_or(usize::MAX)")


@proof
def a_sweep_finds_expired_runs_in_time():
    """While at most L runs are unexpired at any time and 2 L + Z < S, an arena of S is never full.
    """
    computed_by(TIDY, "store/sweep.rs: Store::sweep")
    size, sets, most = whole("size sets most")
    unexpired, at_sweep, since = whole("unexpired at_sweep since")
    # Since the last sweep of every set, `since` runs were taken, one for each set swept.
    held = unexpired + at_sweep + since
    return claim(
        given=[sets >= 1, most >= 0, 2 * most + sets < size, 0 <= unexpired, unexpired <= most,
               0 <= at_sweep, at_sweep <= most, 0 <= since, since <= sets],
        goal=held < size,
    )


@proof
def a_half_used_arena_leaves_time_for_a_round():
    """When an arena of at least two runs a set is full, the last run for each set has paid for a
    look.
    """
    computed_by(TIDY, ROOM)
    size, sets, used = whole("size sets used")
    half_used = used > size - used
    return claim(
        given=[sets >= 1, size >= 2 * sets, 0 <= used, used <= size, used > size - sets],
        goal=half_used,
    )


@rust("store/flood.rs: Flood::is_on", "if !is_whole || until == 0",
      "noted <= now && now < until.min(soonest)")
def is_on(noted, until, soonest, now):
    return And(until != 0, noted <= now, now < If(until <= soonest, until, soonest))


@proof
def a_flood_ends_when_the_first_of_its_slots_is_free():
    """With the least of the waits, newcomers search again not before, and not after, it is over."""
    noted, wait, now, soonest = whole("noted wait now soonest")
    until = noted + wait
    return claim(
        given=[noted >= 0, wait >= 1, now >= 0, soonest >= 0],
        goal=[Implies(is_on(noted, until, soonest, now), And(now - noted < wait, now < soonest)),
              Implies(And(noted <= now, now - noted < wait, now < soonest),
                      is_on(noted, until, soonest, now)),
              Not(is_on(noted, until, soonest, noted + wait)),
              Not(is_on(noted, until, 0, now))],
    )
