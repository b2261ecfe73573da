"""What the other proofs need to know of products, quotients and greatest common divisors."""

from book import claim, lemma, proof, whole
from engine import in_order, quotients, signs
from source import computed_by, rust

PRODUCT = "algorithm/mod.rs: product"
DIVIDED = "algorithm/mod.rs: divided"


@lemma(PRODUCT)
def order(factor, a, b):
    """Of two numbers the larger has the larger product."""
    return [factor >= 0, a <= b], [factor * a <= factor * b]


@lemma(PRODUCT)
def strict_order(factor, a, b):
    """Of two numbers the larger has a product larger by at least the factor."""
    return [factor >= 0, a < b], [factor * a + factor <= factor * b]


def compared(factor, a, b):
    """Both, whichever of the two is larger."""
    return [order(factor, a, b), order(factor, b, a), strict_order(factor, a, b),
            strict_order(factor, b, a)]


@lemma(PRODUCT)
def cancel(factor, a, b):
    """What is not larger times a factor is not larger."""
    return [factor >= 1, factor * a <= factor * b], [a <= b]


@lemma(PRODUCT)
def cancel_strict(factor, a, b):
    """What is smaller times a factor is smaller."""
    return [factor >= 0, factor * a < factor * b], [a < b]


@lemma(PRODUCT)
def bounds(a, b, most_a, most_b):
    """A product is at most that of the most that its factors can be."""
    return [0 <= a, a <= most_a, 0 <= b, b <= most_b], [0 <= a * b, a * b <= most_a * most_b]


@lemma(PRODUCT)
def sign_facts(a, b):
    """What is taken for granted of every product in a linear claim."""
    return [], [signs([a, b], a * b)]


@lemma(PRODUCT)
def sign_of_three(a, b, c):
    """The product of three numbers that are not negative is not."""
    return [a >= 0, b >= 0, c >= 0], [a * b * c >= 0]


@lemma(DIVIDED)
def quotient_is(whole, by, quotient):
    """A quotient rounded down is the only number of which this is true."""
    return [by >= 1, by * quotient <= whole, whole < by * quotient + by], [whole / by == quotient]


@lemma(DIVIDED)
def quotient_order(a, b, by):
    """What is taken for granted of every two quotients by the same number."""
    return [], [in_order(a, b, by, a / by, b / by)]


@lemma(DIVIDED)
def quotient_facts(a, b):
    """What is taken for granted of every quotient in a linear claim; the rest is `a - b * (a /
    b)`.
    """
    return [b >= 1], [quotients(a, b, a / b), a % b == a - b * (a / b)]


@rust("algorithm/mod.rs: gcd", "b = a.get() % divisor;", "a = divisor;")
def gcd_step(a, b):
    return b, a % b


@proof
def a_step_of_gcd_keeps_common_divisors():
    """A number that divides both before a step divides both after it."""
    d, x, y = whole("d x y")
    a, b = d * x, d * y
    divisor, rest = gcd_step(a, b)
    return claim(
        given=[d >= 1, x >= 1, y >= 1],
        goal=[divisor == d * y, rest == d * (x - y * (a / b))],
    )


@proof
def a_step_of_gcd_adds_no_common_divisors():
    """A number that divides both after a step divided both before it."""
    a, d, y, z = whole("a d y z")
    b = d * y
    _, rest = gcd_step(a, b)
    return claim(
        given=[a >= 1, d >= 1, y >= 1, z >= 0, rest == d * z],
        goal=a == d * (y * (a / b) + z),
    )


@proof
def gcd_ends():
    """The second number falls with each step and does not become negative; at 0 it ends."""
    a, b = whole("a b")
    divisor, rest = gcd_step(a, b)
    return claim(given=[a >= 1, b >= 1], goal=[0 <= rest, rest < b, divisor >= 1])


@proof
def dividing_by_a_common_divisor_keeps_the_rate():
    """With n = g * refill and P = g * token, a time earns the same share of a token either way."""
    g, refill, token, e = whole("g refill token e")
    computed_by("algorithm/token_bucket.rs: TokenBucket::new")
    n, period = g * refill, g * token
    return claim(
        given=[g >= 1, refill >= 1, token >= 1, e >= 0],
        goal=[(n * e) * token == (refill * e) * period],
    )


@proof
def quotients_by_a_divisor_are_not_zero():
    """A common divisor goes into both at least once, so that refill and token are at least 1."""
    computed_by("algorithm/token_bucket.rs: TokenBucket::new")
    n, g = whole("n g")
    return claim(given=[n >= 1, g >= 1, g <= n], goal=[n / g >= 1, n / g <= n])
