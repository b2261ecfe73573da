"""How levels and slots are kept in words: what is written is what is read."""

from book import claim, proof
from source import computed_by, constant, quoted, rust
from widths import END, LEVEL_BITS, LOG_TOKENS, TOKENS
from z3 import (
    And, BitVec, BitVecVal, Concat, Extract, LShR, Or, UGT, ULE, ULT, ZeroExt,
)

COUNT_BITS = constant("algorithm/sliding_window.rs", "const BITS: u32 = 48;", 48)
ROW_BITS = constant("store/sets.rs", "const ROW_BITS: u32 = 32;", 32)
LOCK = constant("store/sets.rs", "const LOCK: u64 = 1 << 63;", 1 << 63)
MARK = constant("store/sets.rs", "const MARK: u64 = 1 << 63;", 1 << 63)



def bits(names, size):
    return [BitVec(name, size) for name in names.split()]


@rust("algorithm/sliding_window.rs: Counts::pack",
      "(u128::from(self.previous) << Self::BITS) | u128::from(self.current)")
def pack_counts(previous, current):
    return (ZeroExt(64, previous) << COUNT_BITS) | ZeroExt(64, current)


@rust("algorithm/sliding_window.rs: Counts::unpack",
      "u64::try_from(bits & ((1 << Self::BITS) - 1)).unwrap_or(0);",
      "previous: part(state >> Self::BITS), current: part(state)")
def unpack_counts(state):
    mask = BitVecVal((1 << COUNT_BITS) - 1, 128)
    return Extract(63, 0, LShR(state, COUNT_BITS) & mask), Extract(63, 0, state & mask)


@proof
def counts_are_found_again():
    """Two counts up to 10^12 in one level, below 2^95; it is 0 exactly when both are."""
    previous, current = bits("previous current", 64)
    state = pack_counts(previous, current)
    again = unpack_counts(state)
    return claim(
        given=[ULE(previous, TOKENS), ULE(current, TOKENS)],
        goal=[again[0] == previous, again[1] == current, ULT(state, 1 << LEVEL_BITS),
              (state == 0) == And(previous == 0, current == 0)],
        exact=True,
    )


@rust("algorithm/sliding_log.rs: Handle::pack",
      "u128::from(self.oldest) | (u128::from(self.newest) << 32) | (u128::from(self.total) << 64)")
def pack_handle(oldest, newest, total):
    wide = [ZeroExt(96, part) for part in (oldest, newest, total)]
    return wide[0] | (wide[1] << 32) | (wide[2] << 64)


@rust("algorithm/sliding_log.rs: Handle::unpack",
      "oldest: part(state), newest: part(state >> 32), total: part(state >> 64)")
def unpack_handle(state):
    mask = BitVecVal(2**32 - 1, 128)
    return [Extract(31, 0, LShR(state, by) & mask) for by in (0, 32, 64)]


@proof
def handles_are_found_again():
    """Two indices and a total up to 65,536 in one level, below 2^95."""
    parts = bits("oldest newest total", 32)
    state = pack_handle(*parts)
    return claim(
        given=[ULE(parts[2], LOG_TOKENS)],
        goal=[And([again == part for again, part in zip(unpack_handle(state), parts)]),
              ULT(state, 1 << LEVEL_BITS)],
        exact=True,
    )


@rust("store/sets.rs: halves", "level & u128::from(u64::MAX)",
      "(level >> 64) & u128::from(u32::MAX)")
def halves(level):
    return Extract(63, 0, level), Extract(63, 0, LShR(level, 64) & BitVecVal(2**32 - 1, 128))


@rust("store/sets.rs: Set::write", "mark | (high << ROW_BITS) | (u64::from(*row) + 1)",
      "state.last.as_nanos() | lock", "pair = if i % 2 == 0 { high } else { pair | (high << 32) };")
def words(level, row, last, lock, mark):
    low, high = halves(level)
    return low, mark | (high << ROW_BITS) | (ZeroExt(32, row) + 1), last | lock


@rust("store/sets.rs: first_level",
      "u128::from(low) | (u128::from((high_and_row & !MARK) >> ROW_BITS) << 64)")
def level_of(low, high_and_row):
    high = LShR(high_and_row & ~BitVecVal(MARK, 64), ROW_BITS)
    return ZeroExt(64, low) | (ZeroExt(64, high) << 64)


@rust("store/sets.rs: is_marked", "high_and_row & MARK != 0")
def is_marked(high_and_row):
    return high_and_row & MARK != 0


@rust("store/sets.rs: row",
      "u32::try_from(high_and_row & u64::from(u32::MAX)).ok()?.checked_sub(1)")
def row_of(high_and_row):
    return Extract(31, 0, high_and_row) - 1


LAST = quoted("store/sets.rs: Words::last", "Nanos::from_nanos(self.get(LAST) & !LOCK)")
SHARED = quoted("store/sets.rs: Words::level", "(highs >> (32 * (i % 2))) & u64::from(u32::MAX)",
                "u128::from(self.get_more(i)) | (u128::from(high) << 64)")


@proof
def a_slot_of_four_words_is_found_again():
    """Level, row, mark, time and lock bit do not get in each other's way; a row that is there is not 0.
    """
    level, row = BitVec("level", 128), BitVec("row", 32)
    last, lock, mark = bits("last lock mark", 64)
    low, high_and_row, time_and_lock = words(level, row, last, lock, mark)
    computed_by(LAST)
    return claim(
        given=[ULT(level, 1 << LEVEL_BITS), ULT(row, 2**32 - 1), ULE(last, END),
               Or(lock == 0, lock == LOCK), Or(mark == 0, mark == MARK)],
        goal=[level_of(low, high_and_row) == level, row_of(high_and_row) == row,
              Extract(31, 0, high_and_row) != 0, time_and_lock & (LOCK - 1) == last,
              time_and_lock & LOCK == lock, is_marked(high_and_row) == (mark == MARK)],
        exact=True,
    )


@proof
def two_high_halves_share_a_word():
    """Of the further levels, the high halves of a pair are both found again."""
    one, two = bits("one two", 128)
    computed_by(SHARED, "store/sets.rs: Set::write")
    pair = halves(one)[1] | (halves(two)[1] << 32)
    mask = BitVecVal(2**32 - 1, 64)

    def again(half, at):
        high = LShR(pair, 32 * at) & mask
        return Concat(high, half)

    return claim(
        given=[ULT(one, 1 << LEVEL_BITS), ULT(two, 1 << LEVEL_BITS)],
        goal=[again(halves(one)[0], 0) == one, again(halves(two)[0], 1) == two],
        exact=True,
    )
