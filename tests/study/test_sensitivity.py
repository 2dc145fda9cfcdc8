"""Studies with an assumption halved and doubled."""

from __future__ import annotations

import pytest
from made_up_trials import study

from hawb.study.sensitivity import (
    DEFAULT,
    LEAST_TRIALS,
    MOST_TRIALS,
    check_path,
    trials_for,
    values,
    varied,
    with_sensitivity,
)  # fmt: skip

ASKED = study(5_000)


def test_assumption_is_played_halved_unchanged_and_doubled():
    other = varied(ASKED, DEFAULT, 64)
    assert {name: each.timing.election_s for name, each in other.environments.items()} == {
        "calm_at_0": 0.15, "calm_at_1": 0.3, "calm_at_2": 0.6, "rough_at_0": 0.15, "rough_at_1": 0.3, "rough_at_2": 0.6,
    }  # fmt: skip
    assert (other.trials, other.designs, other.seed) == (64, ASKED.designs, ASKED.seed)
    assert other.environments["calm_at_1"] == ASKED.environments["calm"]
    assert varied(study(10), DEFAULT, 64).trials == 10


def test_assumption_is_varied_only_in_environments_that_have_it():
    failing = {"node_failures": {"every": {"mean_s": 60.0}, "repair": {"mean_s": 1.0}}}
    calm = {"traffic": {"publish_per_s": 1, "consume_per_s": 1}}
    asked = study(environments={"calm": calm, "rough": calm | failing})
    path = "node_failures.every.mean_s"
    assert values(asked, path) == {"rough": 60.0}
    assert list(varied(asked, path, 9).environments) == ["rough_at_0", "rough_at_1", "rough_at_2"]


@pytest.mark.parametrize("path", ["timing", "timing.elections", "traffic.persistent", "traffic.prefetch", ""])
def test_invalid_assumption_is_refused_with_the_valid_ones(path: str):
    with pytest.raises(ValueError, match=r"no number above 0 of an environment; there are .*timing\.election_s"):
        check_path(ASKED, path)
    check_path(ASKED, DEFAULT)


def test_slow_trials_are_limited_unless_requested(monkeypatch: pytest.MonkeyPatch):
    def at(cost_us: float, named: bool) -> int:
        monkeypatch.setattr("hawb.study.sensitivity.cost_us", lambda cell: cost_us)
        return trials_for(ASKED, DEFAULT, named)

    assert [at(cost, named=False) for cost in (50, 2_000, 50_000)] == [MOST_TRIALS, LEAST_TRIALS, 0]
    assert at(50_000, named=True) == LEAST_TRIALS


def test_each_row_has_the_difference_at_each_value():
    def row(environment: str, difference: float | None) -> dict:
        return {"design": "two", "environment": environment, "measure": "lost", "difference": difference}

    played = [row(f"calm_at_{place}", difference) for place, difference in enumerate([1.0, 2.0, 4.0])]
    result, none = with_sensitivity([row("calm", 2.1), row("rough", 3.0)], played, ASKED, DEFAULT)
    assert result["sensitivity"] == [
        {"assumption": DEFAULT, "values": [0.15, 0.3, 0.6], "differences": [1.0, 2.0, 4.0]}
    ]
    assert "sensitivity" not in none
    (twice,) = with_sensitivity([result], played, ASKED, DEFAULT)
    assert len(twice["sensitivity"]) == 2
