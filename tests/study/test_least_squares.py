"""Least squares compared with numpy."""

from __future__ import annotations

import numpy as np
import pytest

from hawb.study.least_squares import solve


@pytest.mark.parametrize("seed", range(5))
def test_weights_are_those_of_numpy(seed: int) -> None:
    draw = np.random.default_rng(seed)
    rows, wanted = draw.normal(size=(12, 4)), draw.normal(size=12)
    assert solve(rows.tolist(), wanted.tolist()) == pytest.approx(np.linalg.lstsq(rows, wanted)[0])


def test_linearly_dependent_column_has_weight_0() -> None:
    assert solve([[0, 1, 2, 1], [0, 2, 4, 0], [0, 3, 6, 0]], [1, 4, 6]) == pytest.approx([0, 2, 0, -1])
