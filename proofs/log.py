"""Sliding log: never more than the limit in any window, and tight waits.

A log is its runs from the oldest to the newest, each an age and a count. The loops are proved step
by step, for any number of runs, and as a whole for four.
"""

from book import claim, proof, whole
from formulas import LOG, log_remaining, run_left, sat_sub, smaller
from source import computed_by, quoted, rust
from z3 import And, If, Implies, Not, Sum

LIMIT, WIDTH, COST, MORE = whole("limit width cost more")
CHARGE = LOG + "charge"
RESET = quoted(LOG + "reset_after",
               "if log.total == 0 { 0 } else { self.time_left(&arena.run(log.newest), at).into() }")
AFTER = quoted("algorithm/mod.rs: Machine::figures_after",
               "let runs = Handle::unpack(settled);",
               "let remaining = log.remaining(runs).saturating_sub(cost);",
               "let reset_after = log.width().into();",
               "let next_after = log.first_expiry(runs, at, arena);",
               "return Figures { remaining, reset_after, next_after };")


@rust(LOG + "settle", "if log.total == 0 || self.time_left(&arena.run(log.newest), at) == 0",
      "while log.total > 0", "if self.time_left(&oldest, at) > 0", "return log;",
      "log.total = log.total.saturating_sub(oldest.count);", "log.oldest = oldest.next;")
def settled(runs, total, width):
    """The total without expired runs."""
    newest_age = runs[-1][0]
    left, is_done = total, False
    for run_age, count in runs:
        is_done = If(run_left(width, run_age) > 0, True, is_done)
        left = If(is_done, left, sat_sub(left, count))
    return If(run_left(width, newest_age) == 0, 0, left)


@rust(LOG + "verdict", "u64::from(self.limit).checked_sub(cost) else", "return Verdict::Never;",
      "let mut excess = u64::from(log.total).saturating_sub(room);", "if excess == 0",
      "while excess > u64::from(run.count) && run.count > 0",
      "excess = excess.saturating_sub(run.count.into());", "run = arena.run(run.next);",
      "Verdict::Wait(self.time_left(&run, at).into())")
def verdict(runs, total, width, limit, cost):
    """Whether it is admitted, whether never, and the wait."""
    never, room = cost > limit, limit - cost
    excess = sat_sub(total, room)
    wait, is_found, rest = run_left(width, runs[-1][0]), False, excess
    for run_age, count in runs:
        wait = If(is_found, wait, run_left(width, run_age))
        is_found = If(is_found, True, verdict_stops(rest, count))
        rest = If(is_found, rest, sat_sub(rest, count))
    return And(Not(never), excess == 0), never, wait


def verdict_stops(excess, count):
    return Not(And(excess > count, count > 0))


@rust(LOG + "first_expiry",
      "if log.total == 0 { self.width } else { self.time_left(&arena.run(log.oldest), at) }")
def first_expiry(runs, total, width):
    return If(total == 0, width, run_left(width, runs[0][0]))


@rust(LOG + "refund", "let given = u32::try_from(tokens).unwrap_or(u32::MAX).min(log.total);",
      "let keep = log.total.saturating_sub(given);", "if keep == 0",
      "while before.saturating_add(run.count) < keep && run.count > 0",
      "before = before.saturating_add(run.count);", "last.count = keep.saturating_sub(before);",
      "total: keep, ..log }, given.into())")
def refunded(runs, total, tokens):
    """The counts of the runs that are kept, the total, and what was given back."""
    given = smaller(tokens, total)
    keep = sat_sub(total, given)
    counts, before = [], 0
    for _, count in runs:
        counts.append(If(before >= keep, 0, If(before + count < keep, count, keep - before)))
        before = before + count
    return counts, keep, given


def four():
    """Four runs, oldest first: each of another time, each unexpired when it was settled last."""
    ages, counts = whole("age0 age1 age2 age3"), whole("count0 count1 count2 count3")
    runs = list(zip(ages, counts))
    falling = [older > younger for older, younger in zip(ages, ages[1:])]
    facts = [*falling, ages[-1] >= 0, *(count >= 1 for count in counts), LIMIT >= 1, WIDTH >= 1]
    return runs, Sum(counts), facts


def counted(runs, passed=0):
    """What the definition says: the runs that are younger than a window, after some time."""
    return Sum([If(run_age + passed < WIDTH, count, 0) for run_age, count in runs])


def aged(runs, passed):
    return [(run_age + passed, count) for run_age, count in runs]


@proof
def a_run_expires_at_the_age_of_a_window():
    """It counts for as long as its age is below the width, and is over at the width exactly."""
    run_age = whole("run_age")
    left = run_left(WIDTH, run_age)
    return claim(
        given=[WIDTH >= 1, run_age >= 0],
        goal=[(left == 0) == (run_age >= WIDTH), 0 <= left, left <= WIDTH,
              Implies(left > 0, And(run_left(WIDTH, run_age + left) == 0,
                                    run_left(WIDTH, run_age + left - 1) > 0))],
    )


@proof
def older_runs_expire_first():
    """When a run still counts all newer ones do; when the newest has expired, all have."""
    older, newer = whole("older newer")
    return claim(
        given=[WIDTH >= 1, 0 <= newer, newer <= older],
        goal=[Implies(run_left(WIDTH, older) > 0, run_left(WIDTH, newer) > 0),
              Implies(run_left(WIDTH, newer) == 0, run_left(WIDTH, older) == 0)],
    )


@proof
def settling_counts_what_is_younger_than_a_window():
    """Of four runs, whether any or all have expired, the total is that of the others."""
    runs, total, facts = four()
    return claim(given=facts, goal=settled(runs, total, WIDTH) == counted(runs))


@proof
def settling_drops_one_expired_run_at_a_time():
    """The total is that of the runs from the oldest on; without an expired one it is so again."""
    total, count, others = whole("total count others")
    computed_by(LOG + "settle")
    return claim(
        given=[count >= 1, others >= 0, total == count + others],
        goal=[sat_sub(total, count) == others, Implies(others == 0, sat_sub(total, count) == 0)],
    )


@proof
def a_wait_of_a_log_is_tight():
    """Of four runs: after the wait the cost is admitted, and one nanosecond earlier it is not."""
    runs, total, facts = four()
    admitted, never, wait = verdict(runs, total, WIDTH, LIMIT, COST)

    def later(passed):
        return counted(runs, passed) + COST <= LIMIT

    return claim(
        given=[*facts, runs[0][0] < WIDTH, COST >= 1, Not(admitted), Not(never)],
        goal=[wait >= 1, wait <= WIDTH, later(wait), Not(later(wait - 1))],
    )


@proof
def the_excess_lies_in_the_run_where_the_search_ends():
    """Each step passes a run that holds none of the last of the excess, for any number of runs."""
    total, room, ahead, excess, count = whole("total room ahead excess count")
    computed_by(LOG + "verdict")
    stops = verdict_stops(excess, count)
    behind = total - ahead - count
    return claim(
        given=[room >= 0, total > room, 0 <= ahead, count >= 1, behind >= 0, excess >= 1,
               excess == total - room - ahead],
        goal=[
            Implies(Not(stops), And(sat_sub(excess, count) >= 1, behind >= 1,
                                    sat_sub(excess, count) == total - room - (ahead + count))),
            # Without this run and all older ones there is room, with this one there is not.
            Implies(stops, And(total - ahead > room, total - (ahead + count) <= room)),
        ],
    )


@proof
def a_wait_is_tight_for_any_number_of_runs():
    """The run where the search ends decides: older ones expire no later, newer ones no earlier."""
    total, room, ahead, count, run_age, expired = whole("total room ahead count run_age expired")
    wait = run_left(WIDTH, run_age)

    def bounds(passed, gone):
        # The runs are in order of age, so `gone` expired tokens are these at least, or at most.
        is_over = run_left(WIDTH, run_age + passed) == 0
        return If(is_over, gone >= ahead + count, gone <= ahead)

    before = whole("before")
    return claim(
        given=[WIDTH >= 1, 0 <= run_age, run_age < WIDTH, count >= 1, ahead >= 0, room >= 0,
               total - ahead > room, total - (ahead + count) <= room,
               bounds(wait, expired), bounds(wait - 1, before)],
        goal=[total - expired <= room, total - before > room, wait >= 1],
    )


@proof
def never_is_said_of_costs_above_the_limit_alone():
    """Such a cost is refused by an empty log too, and any other is admitted by it."""
    runs, _, facts = four()
    admitted, never, _ = verdict(runs, 0, WIDTH, LIMIT, COST)
    return claim(
        given=[*facts, COST >= 1],
        goal=[never == (COST > LIMIT), admitted == Not(never)],
    )


@proof
def what_a_log_admits_it_admits_later():
    """If nobody else asks, a cost that is admitted is admitted at any later time."""
    runs, total, facts = four()
    later = settled(aged(runs, MORE), total, WIDTH)
    return claim(
        given=[*facts, COST >= 1, MORE >= 0, verdict(runs, total, WIDTH, LIMIT, COST)[0]],
        goal=verdict(runs, later, WIDTH, LIMIT, COST)[0],
    )


@proof
def remaining_is_the_largest_cost_a_log_admits():
    """So many are admitted, if any, and one more is not."""
    runs, total, facts = four()
    left = log_remaining(LIMIT, total)
    return claim(
        given=facts,
        goal=[0 <= left, left <= LIMIT,
              Implies(left > 0, verdict(runs, total, WIDTH, LIMIT, left)[0]),
              Not(verdict(runs, total, WIDTH, LIMIT, left + 1)[0])],
    )


@proof
def a_log_is_as_good_as_new_when_its_newest_run_expires():
    """The reset is what the newest run has left: nothing counts then, one nanosecond earlier it
    does.
    """
    computed_by(RESET)
    runs, _, facts = four()
    reset = run_left(WIDTH, runs[-1][0])
    return claim(
        given=[*facts, runs[-1][0] < WIDTH],
        goal=[counted(runs, reset) == 0, counted(runs, reset - 1) > 0, reset >= 1],
    )


@proof
def an_idle_log_is_a_new_one():
    """Once nothing counts, nothing does at any later time."""
    runs, total, facts = four()
    return claim(
        given=[*facts, MORE >= 0, settled(runs, total, WIDTH) == 0],
        goal=settled(aged(runs, MORE), total, WIDTH) == 0,
    )


@proof
def a_refund_takes_the_newest_tokens():
    """Of four runs: the oldest tokens are kept, in runs without gaps, and the total is theirs."""
    runs, total, facts = four()
    tokens = whole("tokens")
    counts, kept, given = refunded(runs, total, tokens)
    shrinks = [And(0 <= after, after <= before) for after, (_, before) in zip(counts, runs)]
    in_order = [Implies(newer > 0, older == before)
                for older, newer, (_, before) in zip(counts, counts[1:], runs)]
    return claim(
        given=[*facts, tokens >= 0],
        goal=[kept == total - given, given <= tokens, given <= total, Sum(counts) == kept,
              Implies(tokens <= total, given == tokens), *shrinks, And(in_order)],
    )


@proof
def the_kept_tokens_end_in_the_run_where_the_search_ends():
    """That run keeps at least one token and no more than it had, for any number of runs."""
    keep, before, count = whole("keep before count")
    computed_by(LOG + "refund")
    stops = Not(And(before + count < keep, count > 0))
    return claim(
        given=[keep >= 1, 0 <= before, before < keep, count >= 1],
        goal=[Implies(Not(stops), before + count < keep),
              Implies(stops, And(1 <= sat_sub(keep, before), sat_sub(keep, before) <= count))],
    )


@proof
def no_window_holds_more_than_the_limit():
    """In [s, s + W) the last charge counts all the others, so together they are at most the limit.
    """
    s, last_charge, other, inside = whole("s last_charge other inside")
    runs, total, facts = four()
    computed_by(CHARGE)
    counts = run_left(WIDTH, last_charge - other) > 0
    return claim(
        # `inside`: tokens charged in the window before the last charge; `total`: what that counts.
        given=[*facts, s <= other, other <= last_charge, last_charge < s + WIDTH, COST >= 1,
               Implies(counts, inside <= total), verdict(runs, total, WIDTH, LIMIT, COST)[0]],
        goal=[counts, inside + COST <= LIMIT],
    )


@proof
def windows_of_a_log_in_any_time():
    """From a to a + T lie in floor(T / W) + 1 half-open windows, with at most the limit in each."""
    t = whole("t")
    windows = t / WIDTH + 1
    computed_by(LOG + "verdict")
    return claim(
        given=[WIDTH >= 1, t >= 0, LIMIT >= 1],
        goal=[t < windows * WIDTH, windows >= 1],
    )


@proof
def the_figures_after_a_charge():
    """What is left falls by the cost, and the newest run, of this very time, has the whole width
    left.
    """
    computed_by(AFTER)
    runs, total, facts = four()
    return claim(
        given=[*facts, COST >= 1, verdict(runs, total, WIDTH, LIMIT, COST)[0]],
        goal=[sat_sub(log_remaining(LIMIT, total), COST) == log_remaining(LIMIT, total + COST),
              run_left(WIDTH, 0) == WIDTH, total + COST <= LIMIT],
    )


@proof
def the_next_token_after_a_charge():
    """One more than is left is admitted, if ever, when the first run expires: of four with the charged one, or
    this one alone.
    """
    computed_by(AFTER)
    runs, total, facts = four()

    def waits(runs, total, expiry):
        charged, sum_ = [*runs, (0, COST)], total + COST
        more = sat_sub(log_remaining(LIMIT, total), COST) + 1
        admitted, never, wait = verdict(charged, sum_, WIDTH, LIMIT, more)
        return And(Not(admitted), Not(never), wait == expiry)

    return claim(
        given=[*facts, runs[0][0] < WIDTH, COST >= 1],
        goal=[Implies(total + COST <= LIMIT, waits(runs, total, first_expiry(runs, total, WIDTH))),
              Implies(COST <= LIMIT, waits([], 0, first_expiry(runs, 0, WIDTH)))],
    )
