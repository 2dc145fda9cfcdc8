"""`hawb replicas`: figures for 1 to 7 replicas from known sources, gaps where unknown, and the recommendation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from html_pages import FETCHING, Page
from inventories import FILES, cluster, policy, queue
from json_schemas import validate
from views_outcomes import HOSTILE

from hawb.cli import main
from hawb.planning import inventory
from hawb.rules.quorum import majority
from hawb.study import replicas as room
from hawb.study import trial_rows as kernel_records
from hawb.study.live import live, smaller
from hawb.study.numbers import read_numbers
from hawb.study.replicas import WhatIf, study, what_if
from hawb.study.throughput import one_queue
from hawb.study.trial_rows import records
from hawb.views.rules.features import matrix
from hawb.views.study import replica_costs as view
from hawb.views.study import replica_page
from hawb.views.terminal import text as text_of

MATRIX = matrix()
HOLDS = {"messages": 1000, "message_bytes": 1_000_000}


def found(*policies, failures: int = 1, trials: int = 0, **made) -> WhatIf:
    made.setdefault("queues", [queue(**HOLDS)])
    return what_if(cluster(*policies, **made), MATRIX, failures, trials)


def cells(answer: WhatIf) -> dict:
    return {(cell.queue_type, cell.replicas): cell for cell in answer.cells}


def test_failures_bytes_and_network():
    shown = cells(found())
    assert len(shown) == 14
    for replicas in range(1, 8):
        classic, quorum = shown["classic", replicas], shown["quorum", replicas]
        assert quorum.tolerated == replicas - majority(replicas)
        assert classic.tolerated == replicas - 1
        assert classic.disk_bytes == quorum.disk_bytes == replicas * 1_000_000
        assert classic.network == quorum.network == replicas - 1
        assert (classic.memory_bytes, quorum.memory_bytes) == (None, 0)


def test_3_8_keeps_bodies_in_memory_and_4_0_mirrors_nothing():
    assert cells(found(version="3.8"))["quorum", 3].memory_bytes == 3_000_000
    assert {key for key in cells(found(version="4.0")) if key[0] == "classic"} == {("classic", 1)}


def test_rates_have_the_models_error_or_are_missing():
    shown = cells(found())
    assert shown["quorum", 3].rate.error == one_queue("quorum").rate(
        setup="GKE e2-standard-16 3.10.1", size_bytes=1000, replicas=3, in_flight=6000
    ).error  # fmt: skip
    assert shown["classic", 7].rate is None, "nobody has measured seven"
    assert shown["classic", 5].rate.warnings
    text = text_of(view.report_of(found()))
    error = "median error on measurements that were not used for the estimate: classic"
    assert view.NOT_MEASURED in text and error in " ".join(text.split())


def test_small_study_is_reproducible():
    once, again = (cells(found(trials=3)) for _ in range(2))
    assert {key: cell.played for key, cell in once.items()} == {key: cell.played for key, cell in again.items()}
    down = {key: cell.played.down.mean_s for key, cell in once.items()}
    assert down["quorum", 2] > down["quorum", 1] > 1000 * down["quorum", 3], "two members are worse than one"
    assert once["classic", 1].played.lost.some == 3, "what is published to a node that is away is confirmed and lost"
    assert {(cell.played.lost.trials, cell.played.down.low_s) for cell in once.values()} == {(3, None)}


def test_estimates_agree_with_the_trial_rows():
    asked = study(cluster(queues=[queue(**HOLDS)]), trials=320, seed=3)
    shown = cells(what_if(cluster(queues=[queue(**HOLDS)]), MATRIX, trials=320, seed=3))
    for key in (("classic", 1), ("quorum", 2)):
        rows = {row["measure"]: row for row in live(smaller(asked, 320, [f"{key[0]}-{key[1]}"]))}
        lost, down = rows["lost_confirmed"], rows["queue_down_s"]
        played = shown[key].played
        assert played.lost.interval == pytest.approx((lost["share_low"], lost["share_high"]))
        assert (played.down.mean_s, played.down.low_s, played.down.high_s) == tuple(
            down[name] for name in ("mean", "mean_low", "mean_high")
        )
        assert played.down.low_s < played.down.mean_s < played.down.most_s


def test_own_numbers_apply_and_their_draws_widen_intervals():
    given = {"numbers": "Ours", "sources": {"environment": "measured: logs"},
             "environment": {"node_failures": {"every": {"mean_s": 4e6}}, "partitions": {"every": {"mean_s": 9}}}}
    draws = [{"node_failures": {"every": {"mean_s": mean_s}}} for mean_s in (4e5, 4e6, 4e7)]
    inventory_ = cluster(queues=[queue(**HOLDS)])
    assumed, result, wide = (what_if(inventory_, MATRIX, trials=320, own=own) for own in (
        None, read_numbers(given), read_numbers(given | {"draws": draws}),
    ))  # fmt: skip
    alone = [cells(answer)["classic", 1].played for answer in (assumed, result, wide)]
    assert alone[0].down.mean_s > alone[1].down.mean_s == alone[2].down.mean_s
    assert alone[2].down.high_s - alone[2].down.low_s > 2 * (alone[1].down.high_s - alone[1].down.low_s)
    assert alone[2].open_share > 0
    assert alone[2].share_interval[1] > alone[2].lost.interval[1] == alone[1].share_interval[1]
    assert result.notes == ("Ours: left out, because it happens in no trial here: environment.partitions.every.mean_s",)
    legend = [" ".join(" ".join(view.legend(answer)).split()) for answer in (result, wide)]
    assert "which fail at the rates of Ours; 50" in legend[0]
    assert "whose 3 draws widen the intervals" in legend[1]


def test_the_command_takes_own_numbers(tmp_path: Path):
    file = tmp_path / "own.yaml"
    file.write_text("numbers: Ours\nenvironment: {node_failures: {every: {mean_s: 5}}}\n")
    asked = ["replicas", *map(str, FILES), "--numbers", str(file)]
    refused = CliRunner().invoke(main, asked)
    assert refused.exit_code == 2
    assert f"{file}, line 2: environment.node_failures.every.mean_s: a number without a source" in refused.output
    nothing = CliRunner().invoke(main, [*asked, "--trials", "0"])
    assert (nothing.exit_code, "--numbers has no effect without trials; give --trials" in nothing.output) == (2, True)


def test_engine_plays_fewer_trials_than_the_kernel(monkeypatch: pytest.MonkeyPatch):
    counts, reason = [], "mode: transactions"
    refused = {("classic", "4.3"): reason}
    monkeypatch.setattr(room.setup, "refused", lambda design, _: refused.get((design.queue_type, design.version)))
    monkeypatch.setattr(room, "records", lambda asked, name, around, first, count: (
        counts.append((name, count)) or records(asked, name, around, first, 1)
    ))  # fmt: skip
    answer = found(trials=1_000, version="4.3")
    assert counts == [("classic-1", 20), *((f"quorum-{members}", 1_000) for members in range(1, 8))]
    legend = " ".join(" ".join(view.legend(answer)).split())
    assert (
        "1,000 trials a row; 20 in each of 1 row, by the engine, because the compiled kernel does not support mode"
    ) in legend
    assert view.rows(answer)[0][-2].startswith("0 of 20 (0 % to 16.1 %)")
    assert "by the engine" not in " ".join(view.legend(found(trials=1)))


@pytest.mark.parametrize(
    ("failures", "nodes", "members"), [(1, 3, 3), (2, 5, 5), (3, 7, 7), (2, 3, 3), (1, 2, 2), (0, 9, 3), (3, 6, 5)]
)
def test_recommended_number_of_members(failures: int, nodes: int, members: int):
    answer = found(failures=failures, nodes=dict.fromkeys("abcdefghi"[:nodes], True))
    assert answer.members == members
    text = " ".join(view.recommendation(answer).split())
    assert f"quorum queues of {members} members" in text
    assert ("too few" in text) == (failures > members - majority(members))
    assert "majority" in text and "at most 7" in text


def test_queue_that_cannot_move_is_mirrored_on_a_majority():
    queues = [queue("q.ok", mirrors=["b", "c"]), queue("q.temporary", durable=False), queue("z", auto_delete=True)]
    answer = found(policy(ha_mode="all"), queues=queues, nodes=dict.fromkeys("abcde", True))
    assert [(one.type, one.replicas, one.has) for one in answer.advice] == [
        ("quorum", 3, 3), ("classic", 3, None), ("classic", 1, 1),
    ]  # fmt: skip
    assert "is not durable" in text_of(view.report_of(answer))


def test_every_number_states_what_it_omits():
    for trials in (0, 1):
        legend = " ".join(" ".join(text.split()) for text in view.legend(found(trials=trials)))
        assert legend.count("Left out:") == 3 + bool(trials)
    assert "seed 0" in legend and "Wilson" in legend and "1 trials a row" in legend


def test_the_command(tmp_path: Path):
    file = tmp_path / "report.html"
    result = CliRunner().invoke(main, ["replicas", *map(str, FILES), "--trials", "0", "-o", str(file), "--json"])
    assert result.exit_code == 1, result.output
    answer = json.loads(result.stdout)
    validate("replicas", answer)
    assert (answer["members"], answer["nodes"], len(answer["replicas"]), len(answer["queues"])) == (3, 3, 14, 31)
    assert answer["replicas"][0]["lost_confirmed"] is None
    page = Page(file.read_text())
    assert "Recommended for 1 failure" in page.said and "no trials" in page.said
    used = {attributes["xlink:href"][0] for tag, attributes in page.elements if tag == "use"}
    assert not [tag for tag, _ in page.elements if tag in {*FETCHING} - {"use"}] and used == {"#"}


@pytest.mark.parametrize("kept", [True, False])
def test_command_announces_compilation(kept: bool, monkeypatch: pytest.MonkeyPatch):
    compiled = []
    monkeypatch.setattr(kernel_records, "is_compiled", lambda asked: kept)
    monkeypatch.setattr(kernel_records, "compile_kernel", compiled.append)
    result = CliRunner().invoke(main, ["replicas", str(FILES[0]), "--trials", "1"])
    assert (result.exit_code, len(compiled)) == (1, 1)
    assert ("compiling the simulation" in result.stderr) == (not kept)


def test_names_are_escaped():
    page = Page(replica_page.page(found(queues=[queue(name) for name in HOSTILE])))
    assert not [tag for tag, _ in page.elements if tag == "script"]
    assert HOSTILE[0] in page.said


def test_unreadable_file_is_refused(tmp_path: Path):
    result = CliRunner().invoke(main, ["replicas", str(tmp_path / "none.json")])
    assert (result.exit_code, result.stdout) == (2, "")


def test_load_beyond_the_network_is_not_simulated():
    huge = queue(messages=3, message_bytes=3 * 2**40)
    answer = found(trials=1, queues=[huge])
    assert {cell.played for cell in answer.cells} == {cell.rate for cell in answer.cells} == {None}
    assert "the network cannot carry such messages" in " ".join(text_of(view.report_of(answer)).split())
    assert "<svg" in replica_page.page(answer)


def test_three_queues_of_the_real_cluster_by_hand():
    """Three nodes, 3.10.8, one failure to be tolerated: a majority of three outlives one, a majority of two none.

    qq.pair is a quorum queue of two members: it lacks one. ha.audit is mirrored to all three nodes, durable, and lazy,
    which a quorum queue need not be told: three members in the place of three copies. orders.paid has priorities, of
    which a quorum queue of 3.10 knows none: it stays mirrored, on a majority of the nodes, which is the two it has.

    Each message is 256 bytes in every queue, and 15,802 wait: so many bytes once for every replica."""
    answer = what_if(inventory.of_files(FILES), MATRIX, trials=0)
    advised = {one.queue.full_name: (one.has, one.type, one.replicas) for one in answer.advice}
    assert advised["qq.pair"] == (2, "quorum", 3)
    assert advised["ha.audit"] == (3, "quorum", 3)
    assert advised["orders.paid"] == (2, "classic", 2)
    assert [cell.disk_bytes for cell in cells(answer).values()][:7] == [n * 15_802 * 256 for n in range(1, 8)]
    assert [cells(answer)["quorum", n].tolerated for n in range(1, 8)] == [0, 0, 1, 1, 2, 2, 3]


def test_the_page_has_figure_and_notes():
    page = replica_page.page(what_if(inventory.of_files(FILES[:1]), MATRIX, trials=0))
    assert page.count('<svg role="img"') == 2 and "no trials" in page
    assert replica_page.page(found()).count("<h2>") == 5


def test_streams_are_reported_as_left_out():
    result = [queue(**HOLDS), queue("log", type="stream", members=["a", "b", "c"]), queue("old", type="stream")]
    answer = found(queues=result)
    assert [one.name for one in answer.queues] == ["q"]
    assert answer.notes[-1].startswith("the figures of costs leave out 2 streams, with 3 known replicas of 1 of them")
    assert found().notes == ()
