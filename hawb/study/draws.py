"""Counted random draws, compiled: the stream of `hawb.engine.core.randomness`, and durations from it.

One compiled implementation serves the engine's trials and the kernel's, so that both get the same history. It uses no
mathematics library, as the last bits of these differ between machines: logarithm, exponential and the normal quantile
consist of additions, products and quotients alone, which IEEE 754 fixes to the bit and which numba neither reorders nor
fuses (no fastmath). IEEE 754 fixes the square root too. So the same key gives the same microseconds on every machine.

Sources: for the generator see `hawb.engine.core.randomness`; the normal quantile is M. J. Wichura's PPND16 ("Algorithm
AS 241: the percentage points of the normal distribution", 1988), whose relative error is about 1e-16.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from hawb.study.compiled import compiled
from hawb.study.environment import Distribution

EXPONENTIAL, WEIBULL, LOGNORMAL, CONSTANT = range(4)
KINDS = {"exponential": EXPONENTIAL, "weibull": WEIBULL, "lognormal": LOGNORMAL, "constant": CONSTANT}

_WORD, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_LN_2_HIGH, _LN_2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_LN_2 = 0.6931471805599453
_OF_ODD = np.array([1 / (2 * k + 1) for k in range(13)])
"""The factors of the logarithm's series. To divide them would take longer than the rest of the series."""

LONGEST_US = 1 << 61
"""The upper limit of a drawn duration, in microseconds: it is beyond any horizon."""


class Lengths(Struct, frozen=True):
    """A distribution of durations, as the compiled functions take it.

    `scale_us` is in microseconds: the mean of an exponential and a constant, the median of a lognormal.
    """

    kind: int
    scale_us: float
    shape: float

    @classmethod
    def of(cls, given: Distribution) -> Lengths:
        """Return the durations of a distribution that is given by its mean."""
        scale = {
            "weibull": lambda shape: 1 / math.gamma(1 + 1 / shape),
            "lognormal": lambda shape: exponential(-shape * shape / 2),
        }.get(given.distribution, lambda shape: 1.0)
        shape = given.shape or 1.0
        return cls(KINDS[given.distribution], max(1.0, round(given.mean_s * 1e6 * scale(shape), 3)), shape)


@compiled
def draw(seed, purpose, trial, n):
    """Return 64 random bits, those of `hawb.engine.core.randomness.draw`; all values are unsigned 64-bit words."""
    c0, c1, c2, c3 = n & _WORD, trial & _WORD, purpose, np.uint64(0)
    k0, k1 = seed & _WORD, seed >> _HALF
    for _ in range(10):
        p0, p1 = _M0 * c0, _M1 * c2
        c0, c1, c2, c3 = (p1 >> _HALF) ^ c1 ^ k0, p1 & _WORD, (p0 >> _HALF) ^ c3 ^ k1, p0 & _WORD
        k0, k1 = (k0 + _W0) & _WORD, (k1 + _W1) & _WORD
    return c1 << _HALF | c0


@compiled
def below(bound, seed, purpose, trial, n):
    """Return a number from 0 to `bound` - 1, that of `hawb.engine.core.randomness.below`; `bound` is below 2**32."""
    bits, most = draw(np.uint64(seed), np.uint64(purpose), np.uint64(trial), np.uint64(n)), np.uint64(bound)
    return np.int64(((bits >> _HALF) * most + ((bits & _WORD) * most >> _HALF)) >> _HALF)


@compiled
def uniform(seed, purpose, trial, n):
    """Return a number between 0 and 1, both excluded, from the upper 53 bits of a draw."""
    bits = draw(np.uint64(seed), np.uint64(purpose), np.uint64(trial), np.uint64(n))
    return (np.float64(np.int64(bits >> np.uint64(11))) + 0.5) * 2.0**-53


@compiled
def logarithm(x):
    """Return the natural logarithm of a number above 0, with a series of (m - 1) / (m + 1) for its mantissa m."""
    mantissa, exponent = math.frexp(x)
    if mantissa < 0.7071067811865476:
        mantissa, exponent = mantissa * 2, exponent - 1
    ratio = (mantissa - 1) / (mantissa + 1)
    square = ratio * ratio
    series = 0.0
    for k in range(12, -1, -1):
        series = series * square + _OF_ODD[k]
    return exponent * _LN_2_HIGH + (2 * ratio * series + exponent * _LN_2_LOW)


@compiled
def exponential(x):
    """Return e to the power of x, with a series for the remainder of x by ln 2; 0 below e**-700."""
    if x < -700:
        return 0.0
    times = math.floor(min(x, 700.0) / _LN_2 + 0.5)
    rest = min(x, 700.0) - times * _LN_2_HIGH - times * _LN_2_LOW
    series = 1.0
    for k in range(15, 0, -1):
        series = series * rest / k + 1.0
    return math.ldexp(series, int(times))


_CENTRE = np.array([
    [2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4, 4.5921953931549871457e4,
     1.3731693765509461125e4, 1.9715909503065514427e3, 1.3314166789178437745e2, 3.3871328727963666080e0],
    [5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4, 2.1213794301586595867e4,
     5.3941960214247511077e3, 6.8718700749205790830e2, 4.2313330701600911252e1, 1.0],
])  # fmt: skip
_SIDES = np.array([
    [7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258e0,
     3.64784832476320460504e0, 5.76949722146069140550e0, 4.63033784615654529590e0, 1.42343711074968357734e0],
    [1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
     6.89767334985100004550e-1, 1.67638483018380384940e0, 2.05319162663775882187e0, 1.0],
])  # fmt: skip
_TAILS = np.array([
    [2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3, 2.65321895265761230930e-2,
     2.96560571828504891230e-1, 1.78482653991729133580e0, 5.46378491116411436990e0, 6.65790464350110377720e0],
    [2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5, 7.86869131145613259100e-4,
     1.48753612908506148525e-2, 1.36929880922735805310e-1, 5.99832206555887937690e-1, 1.0],
])  # fmt: skip


@compiled
def _ratio(table, x):
    """Return the ratio of two polynomials of x."""
    above, under = 0.0, 0.0
    for k in range(8):
        above, under = above * x + table[0, k], under * x + table[1, k]
    return above / under


@compiled
def normal_quantile(p):
    """Return the value that a standard normal variable stays below with probability `p`, between 0 and 1."""
    q = p - 0.5
    if abs(q) <= 0.425:
        return q * _ratio(_CENTRE, 0.180625 - q * q)
    r = math.sqrt(-logarithm(p if q < 0 else 1 - p))
    z = _ratio(_SIDES, r - 1.6) if r <= 5 else _ratio(_TAILS, r - 5)
    return -z if q < 0 else z


@compiled
def length_us(kind, scale_us, shape, u):
    """Return the duration that is exceeded with probability `u`, in whole microseconds from 1 on.

    `kind`, `scale_us` and `shape` are those of `Lengths`.
    """
    times = 1.0
    if kind == EXPONENTIAL:
        times = -logarithm(u)
    elif kind == WEIBULL:
        times = exponential(logarithm(-logarithm(u)) / shape)
    elif kind == LOGNORMAL:
        times = exponential(-shape * normal_quantile(u))
    return np.int64(min(max(scale_us * times + 0.5, 1.0), float(LONGEST_US)))


@compiled
def normal_tail(z):
    """Return the probability that a standard normal variable is above a number.

    Near 0 it is a series (G. Marsaglia, "Evaluating the normal distribution", 2004), further out Laplace's continued
    fraction.
    """
    size, density = abs(z), exponential(-z * z / 2) * 0.3989422804014327
    if size < 2.5:
        term = series = size
        for k in range(3, 101, 2):
            term *= size * size / k
            series += term
        tail = 0.5 - density * series
    else:
        fraction = size
        for k in range(80, 0, -1):
            fraction = size + k / fraction
        tail = density / fraction
    return tail if z >= 0 else 1 - tail


@compiled
def hazard(kind, scale_us, shape, time_us):
    """Return the cumulative hazard of a duration at `time_us`: -ln of the probability that it is longer.

    `kind`, `scale_us` and `shape` are those of `Lengths`; a constant has no hazard.
    """
    if time_us <= 0:
        return 0.0
    if kind == EXPONENTIAL:
        return time_us / scale_us
    logarithm_of_times = logarithm(time_us / scale_us)
    if kind == WEIBULL:
        return exponential(shape * logarithm_of_times)
    return -logarithm(normal_tail(logarithm_of_times / shape))
