from __future__ import annotations

import math

import pytest

from hawb.study.prediction import NotMeasuredError, Prediction
from hawb.study.published import table
from hawb.study.throughput import CLUSTER, ONE_QUEUE, Model, cluster, one_queue

AWS = "c5.4xlarge io1 3.8.4"
GKE = "GKE e2-standard-16 3.10.1"
TYPES = ("classic", "quorum")


@pytest.fixture(scope="module")
def queues() -> dict[str, Model]:
    return {queue_type: one_queue(queue_type) for queue_type in TYPES}


@pytest.fixture(scope="module")
def clusters() -> dict[str, Model]:
    return {queue_type: cluster(queue_type) for queue_type in TYPES}


def by_the_law(setup: str, size_bytes: float, replicas: int, in_flight: float | None) -> dict:
    """Return a row that follows the law exactly."""
    work_s = {"slow": 8e-5, "fast": 2e-5}[setup] * size_bytes**0.1 * replicas**0.4
    rate = 1 / (0.002 / (in_flight or math.inf) + work_s)
    return {
        "setup": setup,
        "size_bytes": size_bytes,
        "replicas": replicas,
        "in_flight": in_flight,
        "rate_per_s": rate,
    }


ROWS = [
    *(by_the_law("slow", 1000, 2, in_flight) for in_flight in (1, 5, 50, 1000)),
    *(by_the_law("slow", size, replicas, None) for size in (10, 1000, 5000) for replicas in (1, 3)),
    by_the_law("fast", 100, 3, 300),
]


def test_fit_recovers_the_law_of_synthetic_rows() -> None:
    model = Model.of(ONE_QUEUE, ROWS)
    assert model.round_trip_s == pytest.approx(0.002)
    assert model.bases_s == pytest.approx({"slow": 8e-5, "fast": 2e-5})
    assert model.powers == pytest.approx({"size_bytes": 0.1, "replicas": 0.4})
    assert model.held_out[:-1] == pytest.approx([0] * (len(ROWS) - 1), abs=1e-6)
    assert model.held_out[-1] is None  # nobody else has been on that machine


def test_held_out_row_does_not_affect_its_prediction() -> None:
    liar = ROWS[3] | {"rate_per_s": ROWS[3]["rate_per_s"] * 5}
    model = Model.of(ONE_QUEUE, [*ROWS[:3], liar, *ROWS[4:]])
    assert model.held_out[3] == pytest.approx(math.log(1 / 5), abs=1e-6)


@pytest.mark.parametrize("queue_type", TYPES)
def test_one_unconfirmed_message_costs_the_round_trip_and_many_cost_none(queues: dict, queue_type: str) -> None:
    """The published figures have 700 and 1,400 messages a second for one in flight, and no gain from 1,000 on."""
    model, replicas = queues[queue_type], {"classic": 2, "quorum": 3}[queue_type]

    def rate(in_flight: float | None) -> float:
        return model.rate(setup=AWS, size_bytes=1000, replicas=replicas, in_flight=in_flight).value

    assert rate(1) == pytest.approx(1 / model.round_trip_s, rel=0.1)
    assert rate(1) < rate(5) < rate(20) < rate(200) < rate(1000) < rate(10_000) < rate(None) < 1.05 * rate(1000)


def test_published_rows_are_within_their_intervals(queues: dict, clusters: dict) -> None:
    """As many as the coverage promises, for the fit has seen them."""
    for model in (*queues.values(), *clusters.values()):
        inside = 0
        for row in model.rows:
            predicted = model.rate(**{column: row[column] for column in model.law.columns})
            inside += predicted.low <= row["rate_per_s"] <= predicted.high
        assert inside >= predicted.coverage * len(model.rows)


def test_held_out_errors_agree_with_the_page(queues: dict, clusters: dict) -> None:
    """Root mean squares, as in the module's docstring: a change of the data or of the law shows here."""
    rms = [
        math.sqrt(sum(error**2 for error in model.errors) / len(model.errors))
        for model in (*queues.values(), *clusters.values())
    ]
    assert rms == pytest.approx([0.162, 0.128, 0.165, 0.106], abs=0.002)


def test_figures_outside_the_fit_are_predicted_about_right(queues: dict) -> None:
    """The guide to the migration: 30,000 messages a second for quorum queues, a third of it for mirrored ones."""
    row = {"setup": GKE, "size_bytes": 1000, "replicas": 3, "in_flight": 6000}
    quorum, classic = queues["quorum"].rate(**row), queues["classic"].rate(**row)
    assert quorum.low < 30_000 < quorum.high
    assert classic.value < quorum.value / 3


def test_rate_after_a_killed_node_is_that_of_a_smaller_cluster(clusters: dict) -> None:
    """Nobody fitted these either. Mirrored queues get new mirrors on the nodes that are left; the target was 30,000."""
    inside = []
    for row in table("lost-broker").rows:
        found = clusters[row["queue_type"]].rate(disk="gp2", nodes=row["nodes"] - 1, vcpus=row["vcpus"])
        inside.append(min(found.low, 30_000) <= row["after_per_s"] <= found.high)
    assert (sum(inside), len(inside)) == (12, 14)


@pytest.mark.parametrize(
    ("queue_type", "replicas", "published_s"),
    [("classic", 2, {200: 0.010, 1000: 0.055, 10_000: 0.640}), ("quorum", 3, {200: 0.008, 1000: 0.035, 10_000: 0.285})],
)
def test_latency_grows_with_messages_in_flight(
    queues: dict, queue_type: str, replicas: int, published_s: dict[int, float]
) -> None:
    def latency(in_flight: int) -> Prediction:
        return queues[queue_type].latency(setup=AWS, size_bytes=1000, replicas=replicas, in_flight=in_flight)

    for in_flight, seconds in published_s.items():
        assert latency(in_flight).low <= seconds <= latency(in_flight).high
    assert all(latency(in_flight).high < 0.005 for in_flight in (1, 5, 20))  # the figure: below 5 ms
    assert latency(200).coverage == 3 / 4  # three rows say no more


def test_more_nodes_carry_more_and_classic_queues_gain_more(clusters: dict) -> None:
    def rate(queue_type: str, nodes: int) -> float:
        return clusters[queue_type].rate(disk="gp2", nodes=nodes, vcpus=16).value

    assert 1 < rate("quorum", 7) / rate("quorum", 3) < rate("classic", 7) / rate("classic", 3)
    assert rate("quorum", 3) > rate("classic", 3)


def test_one_own_measurement_is_enough_for_a_setup(queues: dict) -> None:
    own = {"setup": "mine", "size_bytes": 1000, "replicas": 3, "in_flight": 6000, "rate_per_s": 5000}
    asked = {"size_bytes": 100, "replicas": 1, "in_flight": 200}
    model = one_queue("quorum", [own])
    assert model.fitted_per_s(own) == pytest.approx(5000)
    assert model.powers == pytest.approx(queues["quorum"].powers)
    assert "mine is based on one row" in model.rate(setup="mine", **asked).warnings


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"size_bytes": 8000}, ["size_bytes 8000 is outside the published range, 10 to 5000"]),
        ({"replicas": 1}, [f"replicas 1: {AWS} was measured at 3"]),
        ({"setup": "c4.4xlarge HDD"}, ["c4.4xlarge HDD is based on one row", "in_flight: c4.4xlarge HDD has no"]),
        ({}, []),
    ],
)
def test_unmeasured_values_are_reported(queues: dict, changed: dict, expected: list[str]) -> None:
    row = {"setup": AWS, "size_bytes": 1000, "replicas": 3, "in_flight": 100} | changed
    found = queues["quorum"].rate(**row).warnings
    assert len(found) == len(expected)
    assert all(text.startswith(start) for text, start in zip(found, expected, strict=True))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"replicas": 7}, "replicas: not measured\n  given: 7\n  accepted: 1 to 6; published are 1 to 3"),
        ({"size_bytes": 1_000_000}, "accepted: 5 to 10000"),
        ({"in_flight": 0}, "accepted: 1 to 20000"),
        ({"in_flight": "many"}, "given: 'many'"),
        ({"setup": "a laptop"}, "accepted: c5.4xlarge io1 3.8.4, GKE"),
        ({"disk": "io1"}, "accepted: setup, size_bytes, replicas, in_flight"),
    ],
)
def test_values_far_outside_the_data_are_refused(queues: dict, changed: dict, message: str) -> None:
    row = {"setup": AWS, "size_bytes": 1000, "replicas": 3, "in_flight": 100} | changed
    for ask in (queues["quorum"].rate, queues["quorum"].latency):
        with pytest.raises(NotMeasuredError) as refused:
            ask(**row)
        assert message in str(refused.value)


def test_unknown_type_law_or_row_is_refused(clusters: dict) -> None:
    with pytest.raises(NotMeasuredError, match="accepted: classic, quorum"):
        one_queue("stream")
    with pytest.raises(NotMeasuredError, match="latency: not measured"):
        clusters["quorum"].latency(disk="gp2", nodes=3, vcpus=16)
    with pytest.raises(NotMeasuredError, match="rate_per_s: not measured"):
        cluster("quorum", [{"disk": "mine", "nodes": 3, "vcpus": 4}])
    with pytest.raises(NotMeasuredError, match="nodes: not measured\n  given: 0"):
        cluster("quorum", [{"disk": "mine", "nodes": 0, "vcpus": 4, "rate_per_s": 10}])


def test_prediction_states_its_error_and_omissions(queues: dict) -> None:
    text = str(queues["quorum"].rate(setup=GKE, size_bytes=1000, replicas=3, in_flight=6000))
    assert text.startswith("30,600 messages/s, from 22,500 to 41,")
    assert "91% of rows like the 22 that were held out; the median error was 6%" in text
    assert "leaves out: all other load" in text
    assert "warning" not in text
    assert CLUSTER.leaves_out[0].startswith("any other workload")


def test_interval_is_that_of_the_jackknife() -> None:
    errors = [0.01 * n for n in range(-10, 10)]  # 20 of them: the 19th smallest, as 0.9 x 21 is 18.9
    prediction = Prediction.of(100.0, "s", errors)
    assert prediction.high == pytest.approx(100 * math.exp(0.09))
    assert prediction.low == pytest.approx(100 / math.exp(0.09))
    assert prediction.coverage == 19 / 21
    assert str(Prediction.of(0.01234, "s", [0.1])).startswith("0.0123 s, from 0.0112 to 0.0136 for 50% of rows")
