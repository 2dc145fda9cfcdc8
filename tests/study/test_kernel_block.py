"""A block of trials in shared memory: no trial depends on the trials or policy results before it."""

from __future__ import annotations

import numpy as np
import pytest
from random_studies import HORIZON_US, SEED, case

from hawb.study.kernel import block

pytestmark = pytest.mark.kernel

TRIALS = 4


@pytest.mark.parametrize("part", range(5))
def test_trial_is_the_same_alone_and_after_others(part):
    for number in range(part * 40, part * 40 + 40):
        given = case(number)
        together = block.rows(given.design, given.environment, SEED, number, TRIALS, HORIZON_US)
        alone = [
            block.rows(given.design, given.environment, SEED, number + k, 1, HORIZON_US)[0] for k in range(TRIALS)
        ]
        assert together.tolist() == np.array(alone).tolist(), f"case {number}: {dict(given.chosen)}"


def test_no_trials_give_no_rows():
    given = case(0)
    assert block.rows(given.design, given.environment, SEED, 0, 0, HORIZON_US).shape == (0, block.FIELDS)
