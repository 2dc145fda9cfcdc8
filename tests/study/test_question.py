from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hawb.scenario import text
from hawb.scenario.document import Cluster, Scenario, Step, Timing
from hawb.scenario.fields import Part
from hawb.scenario.outcome import outcome
from hawb.scenario.refused import ScenarioRefused
from hawb.scenario.run import Run
from hawb.scenario.verbs import Wait
from hawb.study import environment
from hawb.study.design import QUEUE, Design, Upgrade
from hawb.study.environment import Distribution, Environment
from hawb.study.load import load, read_study
from hawb.study.question import Control, Precision, Study

STUDIES = Path(__file__).parents[2] / "data" / "studies"
PRESETS = sorted(STUDIES.glob("*.yaml"))

FULL = {
    "study": "Everything that can be said",
    "seed": 7,
    "designs": {
        "mirrored": {
            "queue_type": "classic",
            "nodes": 5,
            "replicas": 3,
            "version": "3.13",
            "policy": {"ha-sync-mode": "automatic", "ha-promote-on-failure": "when-synced", "max-length": 1000},
            "operator_policy": {"max-length": 500},
            "arguments": {"x-max-priority": 3},
            "cluster_partition_handling": {"pause_if_all_down": ["a", "e"], "recover": "autoheal"},
            "queue_master_locator": "min-masters",
            "net_ticktime": 30,
            "mirroring_sync_batch_size": 500,
            "mirroring_sync_max_throughput": 1_000_000,
            "upgrade": {
                "drain": True,
                "await_online_synchronized_mirror": True,
                "await_timeout_s": 600,
                "sync_queue": True,
                "between_s": 60,
                "rebalance": True,
            },
        },
        "quorum": {
            "queue_type": "quorum",
            "nodes": 3,
            "policy": {"delivery-limit": 5},
            "quorum_commands_soft_limit": 64,
            "upgrade": {"await_online_quorum_plus_one": True},
        },
    },
    "environments": {
        "worst": {
            "node_failures": {
                "every": {"mean_s": 1e6, "distribution": "weibull", "shape": 0.7},
                "repair": {"mean_s": 3600, "distribution": "lognormal", "shape": 1.5},
                "controlled_share": 0.3,
                "power_off_share": 0.2,
                "disk_loss_share": 0.1,
            },
            "host_failures": {"groups": 2, "every": {"mean_s": 1e7}, "repair": {"mean_s": 600}},
            "rack_failures": {
                "groups": 3,
                "every": {"mean_s": 1e7},
                "repair": {"mean_s": 600, "distribution": "constant"},
            },
            "failure_biasing": {"times": 20, "after_s": 60},
            "partitions": {"every": {"mean_s": 1e6}, "lasts": {"mean_s": 300}, "cut": "one_rack"},
            "rolling_upgrades": {"every_days": 30, "first_day": 10, "at_hour": 3.5, "down_s": 120},
            "maintenance": {"every_days": 7, "down_s": 600},
            "traffic": {
                "publish_per_s": list(range(24)),
                "consume_per_s": 100,
                "message_size_bytes": 2000,
                "persistent": True,
                "mode": "confirm",
                "ack": "manual",
                "prefetch": 100,
                "bursts": {"every": {"mean_s": 86400}, "lasts": {"mean_s": 600}, "publish_times": 5},
                "consumer_outages": {"every": {"mean_s": 86400}, "lasts": {"mean_s": 3600}},
                "deadline_s": 5,
                "clients": "every_node",
            },
            "timing": {"network_mb_s": 625, "fsync_s": 0.002},
        },
        "calm": {"traffic": {"publish_per_s": 1, "consume_per_s": 2}},
    },
    "trials": 1000,
    "horizon_days": 365,
    "precision": {"measure": "downtime_s", "relative": 0.02, "absolute": 60},
    "control": {
        "trials": 20_000,
        "pairs": 64,
        "designs": {"quorum": {"queue_type": "quorum", "nodes": 3}},
        "environments": {"calm": {"traffic": {"publish_per_s": 1, "consume_per_s": 1}}},
    },
    "least_differences": {"downtime_s": 60, "lost_confirmed": 1},
    "objectives": {"downtime_s": 300},
    "sources": {"environments.worst": "assumed", "environments.worst.timing.fsync_s": "https://example.org 2 ms"},
}


def changed(path: tuple[str | int, ...], value: Any) -> dict:
    """Return FULL with another value at a place, or without it for `...`."""
    given = copy.deepcopy(FULL)
    inside = given
    for part in path[:-1]:
        inside = inside[part]
    if value is ...:
        del inside[path[-1]]
    else:
        inside[path[-1]] = value
    return given


def refusal(path: tuple[str | int, ...], value: Any) -> str:
    with pytest.raises(ScenarioRefused) as refused:
        read_study(changed(path, value))
    return str(refused.value)


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[tuple[str | int, ...], Any]]:
    """Return the scalars in plain values with their places."""
    if not isinstance(value, dict | list):
        return [(path, value)]
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    return [leaf for key, inner in inside for leaf in leaves(inner, (*path, key))]


MIRRORED, QUORUM, WORST = ("designs", "mirrored"), ("designs", "quorum"), ("environments", "worst")


def test_study_with_every_field_is_read() -> None:
    study = read_study(FULL)
    assert study.cells == (("mirrored", "worst"), ("mirrored", "calm"), ("quorum", "worst"), ("quorum", "calm"))
    worst = study.environments["worst"]
    assert worst.node_failures.every == Distribution(1e6, "weibull", 0.7)
    assert worst.traffic.publish_per_s[23] == 23
    assert worst.timing == Timing(network_mb_s=625, fsync_s=0.002)
    assert study.environments["calm"].node_failures is None
    assert study.designs["quorum"].upgrade == Upgrade(await_online_quorum_plus_one=True)


def test_example_has_every_field_of_the_structs() -> None:
    """The tests below rely on this."""
    written = {key for path, _ in leaves(FULL) for key in path}
    own = [part for part in vars(environment).values() if getattr(part, "__module__", "") == environment.__name__]
    parts = [part for part in own if isinstance(part, type) and issubclass(part, Part)]
    assert len(parts) == 10
    for part in [Study, Precision, Control, Design, Upgrade, *parts]:
        assert set(part.__struct_fields__) <= written, part


def test_strange_value_is_accepted_or_refused_with_its_place(subtests: pytest.Subtests) -> None:
    for path, _ in leaves(FULL):
        with subtests.test(msg="a refusal is short and names the place", path=".".join(map(str, path))):
            check_strange_values(path)


def check_strange_values(path: tuple[str | int, ...]) -> None:
    """Put strange values at a path of FULL. Require that a refusal is short and names the path."""
    for strange in (None, True, "strange", "", -1, 0, 0.5, 1e12, 2**63, [], ["a"], {}, {"a": 1}):
        try:
            read_study(changed(path, strange))
        except ScenarioRefused as refused:
            shared = min(len(refused.path), len(path), 2)  # a design whose parts do not fit is refused as a whole
            assert refused.path[:shared] == path[:shared]
            assert len(str(refused)) < 1000


REFUSED = [
    ((*MIRRORED, "replicas"), 6, r"designs\.mirrored: replicas: 6 do not fit on 5 nodes"),
    ((*MIRRORED, "policy", "ha-mode"), "all", "replicas: policy has ha-mode, which has the same meaning"),
    ((*MIRRORED, "policy", "ha-sync-mode"), "often", r"mirrored\.policy: RabbitMQ would refuse this policy"),
    ((*MIRRORED, "operator_policy"), {"ha-promote-on-failure": "always"}, "operator_policy: RabbitMQ would refuse"),
    ((*MIRRORED, "policy", "max-lenght"), 5, "max-lenght"),
    ((*MIRRORED, "arguments", "x-max-priority"), -1, "RabbitMQ would refuse this queue"),
    ((*MIRRORED, "version"), "4.0", "4.0 does not mirror classic queues"),
    ((*MIRRORED, "version"), "3.11", "accepted: 3.8, 3.10, 3.13, 4.0"),
    ((*MIRRORED, "nodes"), 10, "accepted: a whole number from 1 to 9"),
    ((*MIRRORED, "nodes"), 4, "nodes: 'e' is not one of a, b, c, d"),
    ((*MIRRORED, "cluster_partition_handling", "pause_if_all_down"), ["z"], "not a node of this cluster"),
    ((*MIRRORED, "queue_type"), "stream", "accepted: classic, quorum"),
    ((*MIRRORED, "upgrade", "await_online_quorum_plus_one"), True, "has no effect on a classic queue"),
    ((*QUORUM, "upgrade", "sync_queue"), True, "upgrade.sync_queue: has no effect on a quorum queue"),
    ((*QUORUM, "policy"), {"ha-mode": "all"}, "policy: ha-mode is not for a quorum queue of 3.8"),
    ((*QUORUM, "arguments"), {"x-max-priority": 3}, "RabbitMQ would refuse this queue"),
    ((*WORST, "node_failures", "controlled_share"), 0.9, "controlled_share, power_off_share: add up to 1.1"),
    ((*WORST, "node_failures", "disk_loss_share"), 0.8, "controlled_share, disk_loss_share: add up to 1.1"),
    ((*WORST, "node_failures", "every", "shape"), ..., "shape: missing; a weibull distribution needs a shape"),
    ((*WORST, "node_failures", "repair", "distribution"), "exponential", "shape: exponential has none"),
    ((*WORST, "host_failures", "groups"), 0, "environments.worst.host_failures.groups"),
    ((*WORST, "rack_failures"), ..., "partitions.cut: one_rack, but there are no rack_failures"),
    ((*WORST, "failure_biasing", "times"), 0.5, "failure_biasing.times"),
    ((*WORST, "failure_biasing", "times"), ..., "times is missing"),
    ((*WORST, "failure_biasing", "after"), 5, "did you mean after_s"),
    (
        (*WORST, "rack_failures", "every", "distribution"), "constant",
        "failure_biasing: rack_failures.every is constant, and only random times can be biased",
    ),
    (
        ("environments", "calm", "failure_biasing"), {"times": 2},
        r"failure_biasing: there are no failures to bias; they are node_failures, host_failures, rack_failures",
    ),
    ((*WORST, "rolling_upgrades", "first_day"), 365, "first_day: 365 is not before the end, 365 days"),
    ((*WORST, "rolling_upgrades", "at_hour"), 24, "an hour of the day"),
    ((*WORST, "traffic", "publish_per_s"), [1, 2, 3], "a list of 24 of them"),
    ((*WORST, "traffic", "publish_per_s", 3), -1, r"publish_per_s\[3\]"),
    ((*WORST, "traffic", "publish"), 5, "did you mean publish_per_s"),
    ((*WORST, "traffic"), ..., "traffic is missing"),
    (("designs",), {}, "designs: there is none"),
    (("environments",), {}, "environments: there is none"),
    (("designs", "Two Words"), FULL["designs"]["quorum"], "accepted: a name of small letters"),
    (("designs", "line\n"), FULL["designs"]["quorum"], "accepted: a name of small letters"),
    (("trials",), 0, "trials: not accepted"),
    (("horizon_days",), 0, "horizon_days: not accepted"),
    (("precision", "measure"), "uptime_s", "'uptime_s' is not one of published, confirmed"),
    (("least_differences", "uptime_s"), 1, "least_differences: 'uptime_s' is not one of published, confirmed"),
    (("objectives", "downtime_s"), -1, "objectives.downtime_s: not accepted"),
    (("precision", "relative"), 0, "precision.relative: not accepted"),
    (("precision",), {"measure": "lost"}, "relative and absolute are missing"),
    (("sources", "environments.wurst"), "assumed", "a source for something that is not in the file"),
    (("sources", "environments.worst"), "I think", "begins with https:// or assumed or measured"),
]
"""(path, value, message): the value to put at a path of FULL, or `...` to remove it, and what the refusal says."""


def test_invalid_value_is_refused_by_name(subtests: pytest.Subtests) -> None:
    for path, value, message in REFUSED:
        with subtests.test(msg="the refusal says what is wrong", path=".".join(map(str, path)), value=value):
            refused = refusal(path, value)
            assert re.search(message, refused) or message in refused, refused


def test_a_refusal_names_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text((STUDIES / "upgrades.yaml").read_text().replace("nodes: 3", "nodes: 30", 1))
    with pytest.raises(ScenarioRefused) as refused:
        load(file)
    place = f"{file}, line 4: designs['manual-hurried'].nodes"
    assert str(refused.value).startswith(f"{place}: not accepted\n  given: 30")
    with pytest.raises(ScenarioRefused, match="the file is empty"):
        load("")
    with pytest.raises(ScenarioRefused, match="cannot be read"):
        load(tmp_path / "none.yaml")


@pytest.mark.parametrize("preset", PRESETS, ids=lambda path: path.stem)
def test_a_preset_has_sources_and_designs_that_the_engine_takes(preset: Path, subtests: pytest.Subtests) -> None:
    study = load(preset)
    with subtests.test(msg="every number has a source"):
        given = text.parse(preset.read_text())
        for path, value in leaves(given["environments"], ("environments",)):
            if not isinstance(value, str):
                place = ".".join(str(part) for part in path if isinstance(part, str))
                assert study.source_of(place), place
    with subtests.test(msg="the README names it"):
        assert f"`{preset.stem}`" in (STUDIES / "README.md").read_text()
    for name, design in study.designs.items():
        with subtests.test(msg="the engine places as many replicas as the design says", design=name):
            assert copies_in_the_engine(design) == design.replicas


def copies_in_the_engine(design: Design) -> int:
    """Return how many replicas the queue of a design has, placed by the engine's rules from the design's own cluster,
    policies and queue."""
    scenario = Scenario(
        scenario="A design",
        cluster=design.cluster(Timing()),
        policies=design.policies(),
        operator_policies=design.operator_policies(),
        queues=(design.queue(),),
        steps=(Step(Wait(1.0)),),
    )
    found = outcome(Run.of(scenario))["queues"][QUEUE]
    return len(found["members"] if design.queue_type == "quorum" else [found["master"], *found["mirrors"]])


def test_nearest_source_applies() -> None:
    study = read_study(FULL)
    assert study.source_of("environments.worst.timing.fsync_s") == "https://example.org 2 ms"
    assert study.source_of("environments.worst.timing.network_mb_s") == "assumed"
    assert study.source_of("environments.calm.traffic") is None


def test_the_example_of_the_readme_is_a_study() -> None:
    example, *_ = re.findall(r"```yaml\n(study: .*?)```", (STUDIES / "README.md").read_text(), re.DOTALL)
    assert load(example).trials * len(load(example).cells) == 2000


@pytest.mark.parametrize(("replicas", "expected"), [(None, {}), (1, {}), (2, {"ha-mode": "exactly", "ha-params": 2})])
def test_replicas_stand_for_a_policy(replicas: int | None, expected: dict) -> None:
    assert Design(queue_type="classic", nodes=3, replicas=replicas).definition == expected
    quorum = Design(queue_type="quorum", nodes=3, replicas=replicas)
    assert quorum.policies() == ()
    assert quorum.queue().arguments == ({} if replicas is None else {"x-quorum-initial-group-size": replicas})


def test_an_environment_may_be_built_in_python() -> None:
    traffic = read_study(FULL).environments["calm"].traffic
    assert Environment(traffic=traffic).partitions is None
    with pytest.raises(ValueError, match="one_rack"):
        Environment(traffic=traffic, partitions=read_study(FULL).environments["worst"].partitions)


def test_settings_of_the_cluster_come_from_the_design() -> None:
    design = read_study(FULL).designs["mirrored"]
    cluster = design.cluster(Timing(fsync_s=0.01))
    assert (cluster.nodes, cluster.timing.fsync_s) == (("a", "b", "c", "d", "e"), 0.01)
    same = (set(Design.__struct_fields__) & set(Cluster.__struct_fields__)) - {"nodes"}
    assert len(same) == 7
    assert {name: getattr(cluster, name) for name in same} == {name: getattr(design, name) for name in same}


def test_designs_that_can_have_a_split_brain() -> None:
    study = load(STUDIES / "today.yaml")
    assert study.split_brains == set()
    cuts = study.environments["cuts"]
    one_of_each = replace(cuts, traffic=replace(cuts.traffic, clients=None))
    assert replace(study, environments={"cuts": one_of_each}).split_brains == {("mirrored-autoheal", "cuts")}
    assert not Design(queue_type="classic", nodes=3).may_split
    assert Design(queue_type="classic", nodes=3, replicas=2).may_split
    assert not Design(queue_type="quorum", nodes=3).may_split


@pytest.mark.parametrize("part", [("designs",), ("control", "designs")], ids=".".join)
def test_stream_is_refused_by_name_with_what_to_do(part: tuple[str, ...]):
    for field, value in (("queue_type", "stream"), ("arguments", {"x-queue-type": "stream"})):
        said = refusal((*part, "quorum", field), value)
        assert f"{'.'.join(part)}.quorum.{field}" in said and "streams are not played in studies" in said
        assert "hawb run" in said and "hawb replicas" in said


def test_type_in_the_arguments_must_be_that_of_the_design():
    place = ("designs", "quorum", "arguments")
    assert "a type other than queue_type" in refusal(place, {"x-queue-type": "classic"})
    assert read_study(changed(place, {"x-queue-type": "quorum"})).designs["quorum"].queue_type == "quorum"
