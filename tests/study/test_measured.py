"""`hawb import --numbers`: measured, assumed and unknown numbers of a cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from hawb.cli import main
from hawb.exports.untrusted import ImportRefused
from hawb.scenario.load import load, read_file
from hawb.study.measured import PRICES, Begun, begin
from hawb.study.numbers import ORIGINS, leaves, read_numbers
from hawb.study.question import source_of

REAL = Path(__file__).parents[2] / "data" / "real"
RATES = {"orders.new": (41.2, 39.0), "orders.paid": (7.5, 31.0), "shop::cart.03": (41.2, 0.0), "ha.audit": (0.2, 0.0)}


def listed(rates: dict[str, tuple[float, float]]) -> list[dict[str, Any]]:
    """Return the real cluster's queues, some with publish and deliver rates."""
    rows = json.loads((REAL / "api-queues.json").read_text())
    for row in rows:
        name = row["name"] if row["vhost"] == "/" else f"{row['vhost']}::{row['name']}"
        if name in rates:
            published, delivered = rates[name]
            row["message_stats"] = {
                "publish": 900, "publish_details": {"rate": published}, "deliver_get_details": {"rate": delivered},
                "ack_details": {"rate": delivered / 2}, "redeliver": 3,
            }  # fmt: skip
    return rows


@pytest.fixture
def busy(tmp_path: Path) -> Path:
    """Write a listing of the real cluster with traffic."""
    (tmp_path / "busy.json").write_text(json.dumps(listed(RATES)))
    return tmp_path / "busy.json"


def begun(*listings: Path, queue: str | None = None) -> Begun:
    return begin(REAL / "definitions.json", listings, queue)


def hawb(*arguments: object) -> Result:
    given = map(str, ("import", REAL / "definitions.json", *arguments))
    return CliRunner().invoke(main, list(given), catch_exceptions=False)


def test_busiest_queue_is_measured_and_the_rest_assumed(busy: Path):
    found = begun(busy, REAL / "api-nodes.json")
    assert found.numbers.environment == {
        "traffic": {"publish_per_s": 41.2, "consume_per_s": 164.8, "message_size_bytes": 256},
        "node_failures": {
            "every": {"mean_s": 2592000}, "repair": {"mean_s": 3600, "distribution": "lognormal", "shape": 1},
        },
        "timing": {"fsync_s": 0.000265},
    }  # fmt: skip
    assert (found.numbers.design, found.numbers.prices) == ({"net_ticktime": 60}, None)
    sources = found.numbers.sources
    rate = "measured: busy.json, message_stats.publish_details.rate of orders.new"
    assert sources["environment.traffic.publish_per_s"] == rate
    assert sources["environment.traffic.message_size_bytes"].startswith("measured: busy.json, message_bytes")
    consumed = sources["environment.traffic.consume_per_s"]
    assert consumed.startswith("assumed: 4 times the publish rate, ") and "took 39 a second (busy.json" in consumed
    assert sources["environment.node_failures"].startswith("assumed: ")
    assert sources["environment.timing.fsync_s"] == "measured: api-nodes.json, io_sync_avg_time of the slowest node"
    assert found.notes == ["3 nodes by api-nodes.json: each design of the study sets its own number"]


def test_faster_consumers_are_measured(busy: Path):
    found = begun(busy, queue="orders.paid").numbers
    assert found.environment["traffic"] == {"publish_per_s": 7.5, "consume_per_s": 31.0, "message_size_bytes": 256}
    source = found.sources["environment.traffic.consume_per_s"]
    assert source.startswith("measured: busy.json, message_stats.deliver_get_details.rate of orders.paid")


def test_queue_of_another_virtual_host_can_be_chosen(busy: Path):
    found = begun(busy, queue="shop::cart.03").numbers
    assert "shop::cart.03" in found.sources["environment.traffic.publish_per_s"]
    with pytest.raises(ImportRefused, match=r"given: 'cart.03'\n  accepted: a queue in the listings: 'avail.pres"):
        begun(busy, queue="cart.03")
    with pytest.raises(ImportRefused, match="there is none"):
        begun(queue="orders.new")


def test_idle_cluster_keeps_the_traffic_of_the_study():
    found = begun(REAL / "api-queues.json")
    assert found.numbers.environment["traffic"] == {"message_size_bytes": 256}
    assert found.notes == [
        "ha.audit: nothing is published in api-queues.json, the study's publish_per_s and consume_per_s are used"
    ]


def test_unknown_numbers_are_reported():
    found = begun(REAL / "list_queues.txt")
    assert list(found.numbers.environment) == ["node_failures"]
    assert any("no listing has publish rates" in note for note in found.notes)
    assert any("no listing has the size of its messages" in note for note in found.notes)
    assert begun().notes == ["no listing has a queue: the study's traffic is used"]


def test_queues_that_no_study_plays_are_skipped(tmp_path: Path):
    stats = {"message_stats": {"publish_details": {"rate": 9}}}
    rows = [
        {"name": "log", "vhost": "/", "type": "stream", "messages": 9, **stats},
        {"name": "mine", "vhost": "/", "exclusive": True, "messages": 9, **stats},
        {"name": "b", "vhost": "/", "messages": 1, "message_stats": []},
        {"name": "a", "vhost": "/", "messages": 1},
        {"name": "deep", "vhost": "/", "messages": 8, "message_bytes": 12, "message_stats": {"publish_details": {}}},
    ]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    assert begun(tmp_path / "rows.json").numbers.environment["traffic"] == {"message_size_bytes": 2}
    (tmp_path / "rows.json").write_text(json.dumps(rows[:2]))
    assert "traffic" not in begun(tmp_path / "rows.json").numbers.environment


def test_later_listing_overrides_and_each_number_names_its_source(busy: Path, tmp_path: Path):
    later = [{"name": "orders.new", "vhost": "/", "messages": 10, "message_bytes": 700}]
    (tmp_path / "later.json").write_text(json.dumps(later))
    found = begun(busy, tmp_path / "later.json", queue="orders.new").numbers
    traffic = found.environment["traffic"]
    assert (traffic["publish_per_s"], traffic["message_size_bytes"]) == (41.2, 70)
    assert "busy.json" in found.sources["environment.traffic.publish_per_s"]
    assert "later.json" in found.sources["environment.traffic.message_size_bytes"]


@pytest.mark.parametrize("listings", ["", "api-queues.json", "api-queues.json api-nodes.json", "list_queues.txt"])
def test_written_file_reads_back_with_a_source_for_each_number(listings: str):
    found = begun(*(REAL / name for name in listings.split()))
    assert read_file(found.text, None, read_numbers) == found.numbers
    for path, _ in leaves(found.numbers.environment, "environment"):
        assert source_of(found.numbers.sources, path).startswith(tuple(ORIGINS))


def test_commented_prices_are_valid(busy: Path):
    text = begun(busy).text
    assert text.endswith(PRICES)
    priced = "\n".join(line.removeprefix("#") for line in text.splitlines())
    numbers = read_file(priced, None, read_numbers)
    assert (numbers.prices.currency, numbers.prices.replicated_gb) == ("EUR", 0.02)
    assert numbers.environment == begun(busy).numbers.environment


def test_names_are_escaped_on_one_line(tmp_path: Path):
    name = "a: b\n\x1b[31m'\"#"
    stats = {"message_stats": {"publish_details": {"rate": 0.1}}}
    (tmp_path / "rows.json").write_text(json.dumps([{"name": name, "vhost": "/", "messages": 1, **stats}]))
    found = begun(tmp_path / "rows.json")
    assert "\x1b" not in found.text and not [note for note in found.notes if not note.isprintable()]
    assert read_file(found.text, None, read_numbers) == found.numbers


# The command


def test_command_writes_a_file_and_keeps_an_existing_one(busy: Path, tmp_path: Path):
    own = tmp_path / "own.yaml"
    result = hawb("--queues", busy, "--queues", REAL / "api-nodes.json", "--numbers", own)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "note: 3 nodes by api-nodes.json: each design of the study sets its own number\n"
    assert read_file(own, None, read_numbers).environment["traffic"]["publish_per_s"] == 41.2
    own.write_text("precious")
    again = hawb("--queues", busy, "--numbers", own, "-o", tmp_path / "cluster.yaml")
    assert (again.exit_code, again.stderr) == (2, f"{own}: exists already; --numbers needs a new file\n")
    assert (own.read_text(), (tmp_path / "cluster.yaml").exists()) == ("precious", False)


def test_the_command_writes_scenario_and_numbers(busy: Path, tmp_path: Path):
    result = hawb("--queues", busy, "--numbers", "-", "--queue", "orders.paid", "-o", tmp_path / "cluster.yaml")
    assert result.exit_code == 0
    assert read_file(result.stdout, None, read_numbers).environment["traffic"]["publish_per_s"] == 7.5
    assert len(load(tmp_path / "cluster.yaml").queues) == 31


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "Give -o FILE, --numbers FILE, or both"),
        (["-o", "-", "--queue", "orders.new"], "--queue needs --numbers"),
        (["-o", "-", "--numbers", "-"], "-o and --numbers name the same file"),
        (["--numbers", "-", "--queue", "orders.old"], "given: 'orders.old'"),
    ],
)
def test_invalid_options_are_refused(options: list[str], said: str):
    result = hawb("--queues", REAL / "api-queues.json", *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
