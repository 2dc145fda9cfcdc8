from __future__ import annotations

import math

import pytest
from matplotlib.figure import Figure

from hawb.study.throughput import Model, cluster, one_queue
from hawb.views.study.estimates import number
from hawb.views.study.throughput_figures import held_out_table, limits_table, sentence, throughput_figure

TYPES = ("classic", "quorum")


@pytest.fixture(scope="module")
def models() -> tuple[dict[str, Model], dict[str, Model]]:
    return {name: one_queue(name) for name in TYPES}, {name: cluster(name) for name in TYPES}


@pytest.fixture(scope="module")
def figure(models: tuple) -> Figure:
    return throughput_figure(*models)


def marks(figure: Figure, panel: int) -> dict[str, list[tuple[float, float]]]:
    """Return the marks of a panel by label."""
    return {
        line.get_label(): list(zip(*line.get_data(), strict=True))
        for line in figure.axes[panel].lines
        if not line.get_label().startswith("_")
    }


def test_published_rates_are_drawn(figure: Figure) -> None:
    rates = marks(figure, 0)
    assert rates["quorum, 3 copies"][0] == (1, 1400)
    assert rates["classic, 2 copies"][-1] == (10_000, 11_800)
    latencies = marks(figure, 1)
    assert latencies["classic"] == [(200, 0.010), (1000, 0.055), (10_000, 0.640)]
    assert {label: len(found) for label, found in marks(figure, 2).items()} == dict.fromkeys(
        ["classic, 1 copy", "classic, 3 copies", "quorum, 1 copy", "quorum, 3 copies"], 4
    )


def test_lines_are_those_of_the_model(figure: Figure, models: tuple) -> None:
    lines = [line for line in figure.axes[0].lines if len(line.get_xdata()) == 60]
    for queue_type, line in zip(TYPES, lines, strict=True):
        model = models[0][queue_type]
        row = {"setup": "c5.4xlarge io1 3.8.4", "size_bytes": 1000, "replicas": {"classic": 2, "quorum": 3}[queue_type]}
        assert line.get_ydata()[-1] == pytest.approx(model.rate(**row, in_flight=10_000).value)


def test_clusters_are_shown_as_held_out_predictions(figure: Figure, models: tuple) -> None:
    (published, predicted), *_ = marks(figure, 3)["classic"]
    assert published == 20_000
    assert predicted == pytest.approx(20_000 * math.exp(models[1]["classic"].held_out[0]), abs=1)


def test_title_names_the_faster_type_and_the_number_of_predicted_clusters(models: tuple) -> None:
    queues, clusters = models
    errors = [error for model in clusters.values() for error in model.held_out if error is not None]
    near = sum(0.8 <= math.exp(error) <= 1.25 for error in errors)
    shown = sentence(queues, clusters)
    assert shown.startswith("A quorum queue passes on 2.3 times as many messages a second as a classic one; ")
    assert shown.endswith(f"of {len(errors)} clusters {near} are predicted within a quarter from the other clusters.")
    alike = dict.fromkeys(TYPES, queues["quorum"])
    assert sentence(alike, clusters).startswith("Which type of queue passes on more messages a second is not known; ")


def test_the_table_has_every_row_with_its_error(models: tuple) -> None:
    found = held_out_table(models[0]["quorum"])
    assert len(found) == len(models[0]["quorum"].rows)
    assert found["off_percent"].isna().sum() == 3  # the disks, each measured once
    first = found.iloc[0]
    assert first["off_percent"] == pytest.approx(100 * (first["predicted_per_s"] / first["rate_per_s"] - 1), abs=0.1)


def test_rates_and_latencies_by_limit_have_intervals_and_the_models_error() -> None:
    queues = {name: one_queue(name) for name in ("classic", "quorum")}
    asked = {"setup": "c5.4xlarge io1 3.8.4", "size_bytes": 1000}
    table = limits_table(queues, [1, 2000], {"classic": 2, "quorum": 3}, **asked)
    found = queues["quorum"].latency(in_flight=2000, replicas=3, **asked)
    cell = f"{number(found.value * 1000)} ({number(found.low * 1000)} to {number(found.high * 1000)})"
    assert table.loc["2,000", "quorum, latency, ms"] == cell
    assert list(table.loc["median error"])[0::2] == ["12% of 22", "6% of 22"]
