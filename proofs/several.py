"""Several limits of one key: all of them or none, and which of their answers is told.

Three limits stand for any number: each fold is over its parts in order, and keeps what it found.
That a limit admits a cost from `wait` on and not before is proved with each algorithm.
"""

from book import claim, proof, whole
from formulas import PLAN, STATE, larger, sat_sub
from source import computed_by, quoted, rust
from z3 import And, Bool, Bools, If, Implies, Not, Or

WAITS = whole("wait0 wait1 wait2")
NEVERS = Bools("never0 never1 never2")
LEFT = whole("left0 left1 left2")
RESETS = whole("reset0 reset1 reset2")
# The time until one token more is left under each limit; 0 when that is all that it holds.
NEXTS = whole("next0 next1 next2")
BEHIND, COST = whole("behind cost")
FIGURES = quoted("algorithm/mod.rs: Machine::figures",
                 "let (remaining, next_after) = bucket.left(settled);",
                 "match self.verdict(settled, remaining.saturating_add(1), at, arena) {",
                 "Verdict::Wait(wait) => u64::try_from(wait).unwrap_or(u64::MAX)",
                 "Verdict::Never | Verdict::Admit => 0")
# A wait of 0 is an admission.
FACTS = [*(wait >= 0 for wait in WAITS), BEHIND >= 0, COST >= 1]


@rust(PLAN + "rule_settled", "let mut is_admitted = true;", "if cost > 0",
      "is_admitted &= machine.admits(level, cost, at, arena);", "0 => Write::Nothing",
      "_ if is_admitted => Write::Charge(cost)", "_ if at.stored != at.last => Write::Anchor",
      "_ => Write::Nothing")
def rule(cost, admissions, stepped):
    """Whether it is admitted, charged, and whether only the time is written."""
    admitted = Or(cost == 0, And(admissions))
    charged = And(cost > 0, admitted)
    return admitted, charged, And(cost > 0, Not(admitted), stepped)


@rust("algorithm/mod.rs: Machine::admits", "bucket.admits(settled, cost)",
      "self.verdict(settled, cost, at, arena) == Verdict::Admit")
def limit_admits(never, wait):
    return And(Not(never), wait == 0)


def exceeds(one, other):
    """The order of verdicts: admitted, then waits by their length, then never."""
    return Or(And(one[0], Not(other[0])), And(Not(one[0]), Not(other[0]), one[1] > other[1]))


@rust(PLAN + "decision", "let mut worst = Verdict::Admit;", "if verdict > worst",
      "(worst, longest) = (verdict, Some(index));",
      "if least.is_none() || figures.remaining < remaining",
      "(least, remaining) = (Some(index), figures.remaining);",
      "next_after = figures.next_after;", "} else if figures.remaining == remaining {",
      "next_after = match (next_after, figures.next_after) {", "(0, _) | (_, 0) => 0",
      "(one, other) => one.max(other)",
      "next_after_ns: match next_after { 0 => 0, next => next.wrapping_add(settled.behind) }",
      "if figures.reset_after > 0",
      "reset_after = reset_after.max(figures.reset_after + behind);",
      "Verdict::Wait(wait) => Retry::After(span(wait + behind))", "Verdict::Never => Retry::Never",
      "limit: if *is_admitted { least } else { longest }")
def decision(verdicts, lefts, nexts, resets, behind):
    """The worst verdict and its place, the least left and its place, what more of it takes (0: nothing comes),
    and the reset.
    """
    worst, longest = (False, 0), -1
    for place, (never, wait) in enumerate(verdicts):
        is_worse = exceeds((never, wait), worst)
        longest = If(is_worse, place, longest)
        worst = (If(is_worse, never, worst[0]), If(is_worse, wait, worst[1]))
    left, least, reset_after = lefts[0], 0, 0
    following = nexts[0]
    for place, (figure, other) in enumerate(zip(lefts, nexts)):
        both = If(Or(following == 0, other == 0), 0, larger(following, other))
        following = If(figure < left, other, If(figure == left, both, following))
        least = If(figure < left, place, least)
        left = If(figure < left, figure, left)
    next_after = If(following == 0, 0, following + behind)
    for figure in resets:
        reset_after = If(figure > 0, larger(reset_after, figure + behind), reset_after)
    return worst, longest, left, least, next_after, reset_after


def smallest(numbers):
    least = numbers[0]
    for number in numbers[1:]:
        least = If(number < least, number, least)
    return least


def decided():
    return decision(list(zip(NEVERS, WAITS)), LEFT, NEXTS, RESETS, BEHIND)


def admissions(passed=0):
    """What each limit says after a time in which nobody asks."""
    return [limit_admits(never, sat_sub(wait, passed)) for never, wait in zip(NEVERS, WAITS)]


@proof
def a_policy_admits_what_all_its_limits_admit():
    """And it charges exactly then; a look is always admitted and charges nothing."""
    stepped = Bool("stepped")
    admitted, charged, anchored = rule(COST, admissions(), stepped)
    looked = rule(0, admissions(), stepped)
    return claim(
        given=FACTS,
        goal=[admitted == And(admissions()), charged == admitted,
              looked[0], Not(looked[1]), Not(looked[2]),
              # A denial writes the time of a stepped clock, and nothing else.
              anchored == And(Not(admitted), stepped)],
    )


@proof
def the_longest_wait_is_tight_for_all():
    """At now + retry_after all limits admit the cost, and one nanosecond earlier one refuses it."""
    (never, wait), *_ = decided()
    return claim(
        given=[*FACTS, Not(And(admissions())), Not(never)],
        goal=[wait >= 1, And(admissions(wait)), Not(And(admissions(wait - 1)))],
    )


@proof
def never_is_said_when_one_limit_says_it():
    """No wait helps against a limit that never admits, and without one some wait does."""
    passed = whole("passed")
    (never, wait), *_ = decided()
    return claim(
        given=[*FACTS, passed >= 0],
        goal=[never == Or(*NEVERS), Implies(never, Not(And(admissions(passed)))),
              Implies(Not(never), And(admissions(wait)))],
    )


@proof
def the_first_of_the_longest_waits_is_named():
    """A denial names a limit that refuses; none waits longer, and none before it as long."""
    worst, place, *_ = decided()
    verdicts = list(zip(NEVERS, WAITS))
    at = [place == index for index in range(3)]
    named = [Implies(here, And(Or(never, wait > 0), worst[0] == never,
                               Implies(Not(never), worst[1] == wait)))
             for here, (never, wait) in zip(at, verdicts)]
    first = [Implies(place > index, exceeds(worst, verdict))
             for index, verdict in enumerate(verdicts[:2])]
    none_worse = [Not(exceeds(verdict, worst)) for verdict in verdicts]
    return claim(
        given=[*FACTS, Not(And(admissions()))],
        goal=[Or(at), *named, *first, *none_worse],
    )


@proof
def the_least_that_is_left_is_told():
    """And the first limit that has so little: a cost above it is one that this limit refuses."""
    _, _, left, place, *_ = decided()
    return claim(
        given=[*FACTS, *(figure >= 0 for figure in LEFT)],
        goal=[
            And([left <= figure for figure in LEFT]),
            Or([And(place == index, left == figure) for index, figure in enumerate(LEFT)]),
            And([Implies(place > index, left < LEFT[index]) for index in (0, 1)]),
        ],
    )


@proof
def the_next_token_is_told_to_the_nanosecond():
    """More than the least is left of all limits from then on, by the caller's readings, and not before; it is 0
    exactly when a limit that has the least is full. (That each limit has more from its own time on, and no
    sooner, is that its waits are tight, for one token more than the largest cost that it admits.)
    """
    computed_by(FIGURES)
    *_, next_after, _ = decided()
    passed = whole("passed")
    least = smallest(LEFT)

    def has_more(after):
        return And([Or(left > least, And(wait > 0, wait <= sat_sub(after, BEHIND)))
                    for left, wait in zip(LEFT, NEXTS)])

    stays = Or([And(left == least, wait == 0) for left, wait in zip(LEFT, NEXTS)])
    return claim(
        given=[BEHIND >= 0, *(wait >= 0 for wait in NEXTS), *(left >= 0 for left in LEFT),
               passed >= 0],
        goal=[(next_after == 0) == stays, Implies(stays, Not(has_more(passed))),
              Implies(Not(stays), And(has_more(next_after), Implies(passed < next_after,
                                                                    Not(has_more(passed)))))],
    )


@proof
def the_longest_reset_is_told():
    """It is 0 exactly when all limits are as good as new, and else counts from the caller's
    reading.
    """
    *_, reset = decided()
    passed = whole("passed")

    def is_new(after):
        # Readings before the last change, which is `BEHIND` ahead, count as it.
        return And([figure <= sat_sub(after, BEHIND) for figure in RESETS])

    return claim(
        given=[*FACTS, *(figure >= 0 for figure in RESETS), passed >= 0],
        goal=[(reset == 0) == And([figure == 0 for figure in RESETS]), is_new(reset),
              Implies(And(reset > 0, passed < reset), Not(is_new(passed)))],
    )


@rust(STATE + "full_after",
      "machine.figures(level, settled.at, arena).reset_after).max().unwrap_or(0)",
      "if longest == 0 { 0 } else { longest + u128::from(settled.behind) }")
def full_after(resets, behind):
    longest = 0
    for figure in resets:
        longest = larger(longest, figure)
    return If(longest == 0, 0, longest + behind)


@proof
def a_slot_is_free_when_all_its_limits_are_new():
    """The time until it is free is that of the decision's reset: both are the longest."""
    computed_by("step/state.rs: Terms::is_full", "store/room.rs: is_free")
    *_, reset = decided()
    return claim(
        given=[*FACTS, *(figure >= 0 for figure in RESETS)],
        goal=full_after(RESETS, BEHIND) == reset,
    )


@rust(STATE + "owed", "share: most.share.max(owed.share), tokens: most.tokens.max(owed.tokens)")
def owed(shares, tokens):
    share, most = 0, 0
    for one, other in zip(shares, tokens):
        share, most = larger(share, one), larger(most, other)
    return share, most


SHARES = whole("share0 share1 share2")
TOKENS = whole("tokens0 tokens1 tokens2")


@proof
def a_key_owes_the_most_of_its_limits():
    """The largest share and the most tokens; no tokens exactly when no limit is owed any."""
    share, tokens = owed(SHARES, TOKENS)
    return claim(
        given=[*(figure >= 0 for figure in (*SHARES, *TOKENS))],
        goal=[And([share >= one for one in SHARES]), Or([share == one for one in SHARES]),
              And([tokens >= one for one in TOKENS]),
              (tokens == 0) == And([one == 0 for one in TOKENS])],
    )


@rust("store/full.rs: Full::evict", "if least.is_none_or(|(other, ..)| owed < other)",
      "least = Some((owed, set.index(), slot));")
def victim(shares, tokens):
    """The place, share and tokens of the one that is forgotten."""
    place, share, least = 0, shares[0], tokens[0]
    for index, (one, other) in enumerate(zip(shares, tokens)):
        is_less = Or(one < share, And(one == share, other < least))
        place = If(is_less, index, place)
        share, least = If(is_less, one, share), If(is_less, other, least)
    return place, share, least


@proof
def who_owes_least_is_forgotten():
    """The smallest share, of equal ones the fewest tokens, of those the first."""
    place, share, tokens = victim(SHARES, TOKENS)

    def less(one, other):
        return Or(one[0] < other[0], And(one[0] == other[0], one[1] < other[1]))

    all_owed = list(zip(SHARES, TOKENS))
    return claim(
        given=[*(figure >= 0 for figure in (*SHARES, *TOKENS))],
        goal=[
            And([Not(less(one, (share, tokens))) for one in all_owed]),
            Or([And(place == index, share == one, tokens == other)
                for index, (one, other) in enumerate(all_owed)]),
            And([Implies(place > index, less((share, tokens), all_owed[index]))
                 for index in (0, 1)]),
        ],
    )


@rust(STATE + "refund", "let mut most = 0;", "most = most.max(given);")
def refunded(given):
    most = 0
    for one in given:
        most = larger(most, one)
    return most


@proof
def a_refund_counts_what_the_most_indebted_took():
    """The number given back is that of one of the limits, no limit took more, and no more was
    asked.
    """
    tokens = whole("tokens")
    most = refunded(TOKENS)
    return claim(
        given=[*(And(0 <= one, one <= tokens) for one in TOKENS)],
        goal=[And([one <= most for one in TOKENS]), Or([most == one for one in TOKENS]),
              most <= tokens],
    )
