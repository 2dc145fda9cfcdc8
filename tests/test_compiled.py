"""What is compiled is compiled once for each combination of types, whatever constants it is called with."""

from __future__ import annotations

from numba import njit, types

from hawb.study.compiled import inner


def product(a, b=7):
    return a * b


def test_constants_and_defaults_make_no_function_of_their_own():
    times = inner(product)
    through = inner(lambda a, b=5: times(a, b))

    @njit
    def calls(x):
        return times(x, 2), times(3, x), times(4, 5), through(x), through(x, 6)

    assert calls(10) == (20, 30, 20, 50, 60)
    assert times.signatures == [(types.int64, types.int64)]


def test_a_default_is_that_of_the_function():
    times = inner(product)
    assert njit(lambda x: times(x))(10) == 70
