"""Failure rates from logs as numbers for a study, with sources and draws."""

from __future__ import annotations

import pytest
from made_up_rates import DAY, KNOWN, known_spans

from hawb.incident.own_numbers import DRAWS, figure, own_numbers
from hawb.incident.rates import ALONE, rates
from hawb.incident.spans import Span
from hawb.scenario.dump import dump
from hawb.scenario.fields import LONGEST_S
from hawb.scenario.load import read_file
from hawb.study.load import read_study
from hawb.study.numbers import Numbers, laid_over, left_out, read_numbers


@pytest.fixture(scope="module")
def numbers() -> Numbers:
    return own_numbers(rates(known_spans()), "made up")


@pytest.fixture
def study():
    failing = {"every": {"mean_s": 1e6, "distribution": "weibull", "shape": 0.7}, "repair": {"mean_s": 60}}
    return read_study({
        "study": "?", "designs": {"one": {"queue_type": "classic", "nodes": 4}}, "trials": 1, "horizon_days": 300,
        "environments": {"ours": {
            "node_failures": failing, "rack_failures": failing | {"groups": 3},
            "partitions": {"every": failing["every"], "lasts": {"mean_s": 5}},
            "rolling_upgrades": {"every_days": 5, "down_s": 5},
            "traffic": {"publish_per_s": 1, "consume_per_s": 1},
        }},
    })  # fmt: skip


def test_measured_numbers_apply_to_a_study(numbers, study):
    ours = laid_over(study, numbers).environments["ours"]
    assert left_out(study, numbers) == []
    data = {
        "failures": (ours.node_failures.every.mean_s, KNOWN.node_failures.every.mean_s),
        "repairs": (ours.node_failures.repair.mean_s, KNOWN.node_failures.repair.mean_s),
        "racks": (ours.rack_failures.every.mean_s, KNOWN.rack_failures.every.mean_s),
        "away": (ours.rolling_upgrades.down_s, KNOWN.rolling_upgrades.down_s),
        "every": (ours.rolling_upgrades.every_days, KNOWN.rolling_upgrades.every_days),
        "pace": (ours.timing.sync_messages_s, KNOWN.timing.sync_messages_s),
        "stops": (ours.node_failures.controlled_share, KNOWN.node_failures.controlled_share),
    }
    assert {name: was for name, (was, _) in data.items()} == {
        name: pytest.approx(put_in, rel=0.3) for name, (_, put_in) in data.items()
    }
    assert (ours.rack_failures.groups, ours.node_failures.every.shape) == (2, None)
    assert ours.node_failures.repair.distribution == "lognormal"


def test_each_draw_is_an_environment_around_the_numbers(numbers, study):
    assert len(numbers.draws) == DRAWS
    means = sorted(draw["node_failures"]["every"]["mean_s"] for draw in numbers.draws)
    assert means[0] < numbers.environment["node_failures"]["every"]["mean_s"] < means[-1] < 2 * means[0]
    assert means[0] > 45 * DAY and means[-1] < 80 * DAY
    assert all(draw["rack_failures"]["controlled_share"] == 0 for draw in numbers.draws), "never seen, so never drawn"


def test_file_round_trips(numbers):
    assert read_file(dump(numbers), None, read_numbers) == numbers
    assert own_numbers(rates(known_spans()), "made up") == numbers


def test_every_number_names_its_measurement(numbers):
    source = numbers.sources["environment.node_failures.every"]
    assert source.startswith("measured: 241 failures of nodes alone in 40 node-years of logs, mean 60.5 days, 95 % ")


def test_no_rate_without_an_observed_end():
    only = Span(cluster="c", kind=ALONE, node="a", from_us=0, length_s=5.0, ended=False, fresh=True, nodes=1)
    assert own_numbers(rates([only]), "quiet") == Numbers(numbers="quiet")


@pytest.mark.parametrize(("value", "said"), [(0.012345, "0.0123"), (99.96, "100"), (12.34, "12.3"), (3946.2, "3,950")])
def test_figures_have_three_digits(value, said):
    assert figure(value) == said


def test_draw_from_few_failures_is_bounded():
    """One failure in decades of several nodes gives a likelihood with a long tail."""
    ran = [Span(cluster="c", kind=ALONE, node=node, from_us=0, length_s=6e8, ended=node == "a", fresh=True,
                how="killed", disk_lost=False, together=1, nodes=3) for node in "abc"]  # fmt: skip
    longest = max(draw["node_failures"]["every"]["mean_s"] for draw in own_numbers(rates(ran), "rare").draws)
    assert longest == LONGEST_S
