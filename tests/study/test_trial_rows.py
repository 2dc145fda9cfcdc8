"""Rows of trials: equal from kernel and engine, and fallback of the kernel to the engine."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from numba import config, njit
from samples import sample

from hawb.cli.spark import by_engine
from hawb.study import histories, trial_rows
from hawb.study.compiled import inner, with_parts
from hawb.study.engine_trial import own_seed
from hawb.study.kernel import block, setup, silence, state, trial, upkeep
from hawb.study.kernel.trial import HANDED_OVER
from hawb.study.load import load, read_study
from hawb.study.question import Study

pytestmark = pytest.mark.kernel

STUDIES = Path(__file__).parents[2] / "data" / "studies"
TRIALS, MOST_FALLING_BACK = 100, 0.01
"""Of so many trials of each cell of a shipped study that the kernel plays, the largest share that it may leave to the
engine, which takes a thousand times as long."""
TRAFFIC = {"publish_per_s": 10, "consume_per_s": 20}
FAILURES = {"every": {"mean_s": 86400}, "repair": {"mean_s": 600}}


def study(**environment: object) -> Study:
    return read_study({
        "study": "rows",
        "seed": 7,
        "designs": {
            "mirrored": {"queue_type": "classic", "nodes": 3, "replicas": 2, "version": "3.10"},
            "quorum": {"queue_type": "quorum", "nodes": 3, "replicas": 3, "version": "3.10"},
        },
        "environments": {"one": {"node_failures": FAILURES, "traffic": TRAFFIC} | environment},
        "trials": 3,
        "horizon_days": 5,
    })  # fmt: skip


@pytest.mark.parametrize("design", ["mirrored", "quorum"])
def test_row_does_not_depend_on_its_block(design: str):
    rows = trial_rows.records(study(), design, "one", 0, 3).to_pylist()
    assert rows[1:] == trial_rows.records(study(), design, "one", 1, 2).to_pylist()
    assert [row["trial"] for row in rows] == [0, 1, 2]
    assert sum(row["outages"] for row in rows) > 0


@pytest.mark.parametrize("design", ["mirrored", "quorum"])
def test_kernel_and_engine_give_the_same_rows(design: str):
    asked = study()
    given = asked.designs[design], asked.environments["one"], asked.seed, 0, 3, 5 * histories.DAY_US
    by_kernel, by_engine = trial_rows.by_kernel(*given), trial_rows.by_engine(*given)
    assert [column.tolist() for column in by_kernel] == [list(column) for column in by_engine]


def test_first_election_is_no_outage():
    """A quorum queue without failures is never down, in kernel and engine."""
    asked = study(node_failures=None)
    (row,) = trial_rows.records(asked, "quorum", "one", 0, 1).to_pylist()
    assert (row["outages"], row["publish_down_s"], row["nacked"], row["refused"]) == (0, 0, 0, 0)
    given = asked.designs["quorum"], asked.environments["one"], asked.seed, 0, 1, 5 * histories.DAY_US
    assert [column.tolist() for column in trial_rows.by_kernel(*given)] == [
        list(column) for column in trial_rows.by_engine(*given)
    ]


def test_engine_plays_designs_that_the_kernel_refuses():
    asked = study(traffic=TRAFFIC | {"clients": "every_node", "prefetch": 100})
    given = asked.designs["quorum"], asked.environments["one"], asked.seed, 0, 2, 5 * histories.DAY_US
    rows = trial_rows.records(asked, "quorum", "one", 0, 2)
    assert rows.drop_columns(["trial", "weight"]).to_pydict() == {
        name: list(column) for name, column in zip(trial_rows.NAMES, trial_rows.by_engine(*given), strict=True)
    }


def test_trials_of_the_engine_are_announced_with_their_duration():
    asked = study(traffic=TRAFFIC | {"clients": "every_node", "prefetch": 100})
    asked = replace(asked, designs={"quorum": asked.designs["quorum"]})
    (one,) = trial_rows.slow(asked, lambda *_: 0.25)
    reason = "clients: clients on every node of a quorum queue"
    assert one == trial_rows.Slow(reason, (("quorum", "one"),), 0.25)
    assert one.trials_in_a_minute == 240
    assert by_engine(one, 100_000) == (
        f"The compiled kernel does not support {reason}, so the slower engine simulates quorum in one. 100,000 trials"
        " of each take about 6 h 57 min on one core, and `trials: 240` takes about 60 s."
    )
    assert trial_rows.Slow(reason, (("quorum", "one"),), 100).trials_in_a_minute == 1
    assert trial_rows.slow(study(), lambda *_: 0.25) == []


def test_duration_of_the_engine_is_extrapolated_to_the_horizon(monkeypatch: pytest.MonkeyPatch):
    played, clock = [], iter(range(1000))
    monkeypatch.setattr(trial_rows, "process_time", lambda: next(clock) * 0.02)
    monkeypatch.setattr(trial_rows.engine_trial, "play", lambda *asked: played.append(asked[-1] / histories.DAY_US))
    assert trial_rows.engine_s(study(), "quorum", "one") == pytest.approx(0.02)
    assert played == [1, 2, 4, 5]
    monkeypatch.setattr(trial_rows, "process_time", lambda: next(clock) * 0.1)
    assert trial_rows.engine_s(study(), "quorum", "one") == pytest.approx(0.5)


@pytest.mark.parametrize("design", ["classic-1", "classic-2"])
def test_year_of_power_and_disk_losses_is_the_same(design: str):
    asked = load(STUDIES / "replicas.yaml")
    given = asked.designs[design], asked.environments["many-failures"], asked.seed, 0, 1, 365 * histories.DAY_US
    by_kernel, by_engine = trial_rows.by_kernel(*given), trial_rows.by_engine(*given)
    assert [column.tolist() for column in by_kernel] == [list(column) for column in by_engine]


def test_engine_plays_trials_that_fall_back():
    asked = study(node_failures=FAILURES | {"every": {"mean_s": 900}, "disk_loss_share": 0.5})
    given = asked.designs["mirrored"], asked.environments["one"], asked.seed, 0, 3, histories.DAY_US
    rows = block.rows(*given)
    assert 0 < sum(rows[:, 0] == HANDED_OVER) <= len(rows)
    by_kernel, by_engine = trial_rows.by_kernel(*given), trial_rows.by_engine(*given)
    assert [column.tolist() for column in by_kernel] == [list(column) for column in by_engine]


WITH_CUTS = ("today", "replicas")
OTHERS = sorted({file.stem for file in STUDIES.glob("*.yaml")} - {*WITH_CUTS})


@pytest.mark.parametrize("name", [*sample(WITH_CUTS, 0), *sample(OTHERS)])
def test_almost_no_trial_of_a_shipped_study_falls_back_to_the_engine(name: str):
    asked, fallen_back = load(STUDIES / f"{name}.yaml"), {}
    for design, environment in asked.cells:
        given = asked.designs[design], asked.environments[environment]
        if setup.refused(*given) is None:
            rows = block.rows(*given, asked.seed, 0, TRIALS, round(asked.horizon_days * histories.DAY_US))
            fallen_back[design, environment] = int(sum(rows[:, 0] == HANDED_OVER))
    assert {cell: count for cell, count in fallen_back.items() if count > MOST_FALLING_BACK * TRIALS} == {}


@inner
def overflows(t):
    """Raise the kernel's error for a table that is too small."""
    raise OverflowError("more than a trial has room for")


@inner
def fails(t):
    """A trial in which the kernel does what it never should, where its own seed is odd; others it hands over."""
    t.moment.handed = 1
    if t.setup.seed & 1:
        raise RuntimeError("two lead in the same term")


def broken(monkeypatch: pytest.MonkeyPatch, begins: Callable) -> None:
    """Trials of a classic queue begin so, and nothing else happens in them, so that little is compiled."""
    nothing = dict.fromkeys((trial.play_until, upkeep.look_after, upkeep.act), silence.nothing)
    _, words = block.PLAYERS[state.TRIAL]
    player = with_parts(block.played, {trial.set_up: begins} | nothing)
    monkeypatch.setitem(block.PLAYERS, state.TRIAL, (player, words))


def test_engine_plays_a_trial_that_overflows_a_table(monkeypatch):
    broken(monkeypatch, overflows)
    asked = study()
    given = asked.designs["mirrored"], asked.environments["one"], asked.seed, 0, 3, 5 * histories.DAY_US
    assert (block.rows(*given) == HANDED_OVER).all()
    by_kernel, by_engine = trial_rows.by_kernel(*given), trial_rows.by_engine(*given)
    assert [column.tolist() for column in by_kernel] == [list(column) for column in by_engine]


def test_error_of_the_kernel_names_its_trial(monkeypatch):
    broken(monkeypatch, fails)
    first = next(number for number in range(100) if own_seed(7, number) & 1)
    text = f"mirrored in one, trial {first} of seed 7, a fault of the kernel's: RuntimeError: two lead in the same term"
    with pytest.raises(block.TrialFailed, match=f"^{re.escape(text)}$"):
        trial_rows.records(study(), "mirrored", "one", 0, 100)


def test_trial_has_the_weight_of_its_history():
    asked = study(failure_biasing={"times": 100, "after_s": 60})
    rows = trial_rows.records(asked, "mirrored", "one", 1, 2).to_pylist()
    weights = histories.weights_of(asked.environments["one"], 3, 7, 1, 2, 5 * histories.DAY_US)
    assert [row["weight"] for row in rows] == weights.tolist() != [1.0, 1.0]
    assert {row["weight"] for row in trial_rows.records(study(), "mirrored", "one", 0, 3).to_pylist()} == {1.0}


@pytest.mark.parametrize("design", ["mirrored", "quorum"])
def test_kernel_and_engine_agree_on_biased_failures(design: str):
    asked = study(failure_biasing={"times": 300, "after_s": 60})
    given = asked.designs[design], asked.environments["one"], asked.seed, 0, 3, 5 * histories.DAY_US
    by_kernel, by_engine = trial_rows.by_kernel(*given), trial_rows.by_engine(*given)
    assert [column.tolist() for column in by_kernel] == [list(column) for column in by_engine]


def test_kernel_is_compiled_by_one_trial_of_each_kind(monkeypatch: pytest.MonkeyPatch):
    played = []

    def rows(*asked: object) -> np.ndarray:
        played.append(asked)
        return np.zeros((1, block.FIELDS), np.int64)

    monkeypatch.setattr(trial_rows.block, "rows", rows)
    asked = study()
    trial_rows.compile_kernel(asked)
    designs = [asked.designs["mirrored"], asked.designs["quorum"]]
    assert sorted(((one[0], one[3], one[4]) for one in played), key=repr) == [(one, 0, 1) for one in designs]
    trial_rows.compile_kernel(study(partitions={"every": {"mean_s": 9}, "lasts": {"mean_s": 9}}))
    assert len(played) == 4, "trials with partitions are of two more kinds"
    trial_rows.compile_kernel(study(traffic=TRAFFIC | {"clients": "every_node", "prefetch": 100}))
    assert len(played) == 5, "one more kind; the engine plays the quorum queue"


@pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")
def test_compiled_kernel_in_the_cache_is_detected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    player = njit(cache=True)(compiled_soon)
    monkeypatch.setattr(block, "PLAYERS", {kind: (player, words) for kind, (_, words) in block.PLAYERS.items()})
    assert not trial_rows.is_compiled(study())
    player(1)
    assert trial_rows.is_compiled(study())


def compiled_soon(number: int) -> int:
    return number + 1
