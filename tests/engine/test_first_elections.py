from collections import Counter
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from hawb.engine import advance, first_elections
from hawb.scenario.load import read_scenario
from hawb.scenario.outcome import outcome_json
from hawb.scenario.run import Run

Steps = Sequence[dict]


def declared(*names: str, kind: str = "quorum", node: str = "a", **arguments: object) -> list[dict]:
    return [{"declare": {"queue": name, "node": node, "arguments": {"x-queue-type": kind, **arguments}}}
            for name in names]  # fmt: skip


def played(steps: Steps, release: str, **cluster: object) -> Run:
    given = {"nodes": list("abcde"), "version": release} | cluster
    return Run.of(read_scenario({"scenario": "a", "seed": 7, "cluster": given, "steps": list(steps)}))


BEHIND = [{"publish": {"queue": "q3", "count": 3}}, {"kill": "a"}, {"publish": {"queue": "q3", "count": 1}}]
MANY = [f"q{number}" for number in range(6)]
STORIES = {
    "alike": declared(*MANY),
    "streams": declared(*MANY, kind="stream"),
    "of two nodes and two types": [
        step for number, name in enumerate(MANY)
        for step in (*declared(name, node="ab"[number % 2]), *declared(f"s{name}", kind="stream"))
    ],
    "groups of five": declared(*MANY, **{"x-quorum-initial-group-size": 5}),
    "with arguments": [
        step for number, name in enumerate(MANY) for step in declared(name, **{"x-delivery-limit": number % 2})
    ],
    "members down": [{"kill": "e"}, *declared(*MANY), {"start": "e"}, *declared("x", "y")],
    "declared again": [*declared(*MANY), {"delete": {"queue": "q1", "node": "a"}}, *declared("q1", "x")],
    "used meanwhile": [
        step for name in MANY
        for step in (*declared(name), {"consume": {"consumer": f"c{name}", "queue": name, "node": "b", "prefetch": 1}},
                     {"publish": {"queue": name, "count": 2}})
    ],
    "timers": [
        step for number, name in enumerate(MANY)
        for step in (*declared(name), {"declare": {"queue": f"t{number}", "node": "a", "arguments": {"x-expires": 9}}})
    ],
    "at times": [step | {"at": 0.002 * number} for number, step in enumerate(declared(*MANY))],
    "policies": [
        {"set_policy": {"name": "p", "pattern": "q[3-5]", "definition": {"delivery-limit": 3}}}, *declared(*MANY)
    ],
    "a partition": [*declared("q0", "q1"), {"partition": [["a", "b"], ["c", "d", "e"]]}, {"wait": 100},
                    *declared("q2", "q3"), {"heal": True}, {"wait": 100}, *declared("q4", "q5")],
}  # fmt: skip


@pytest.mark.parametrize("name", STORIES)
@pytest.mark.parametrize("release", ["3.8", "3.13", "4.3"])
def test_copied_first_election_gives_the_same_moment(name: str, release: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for timing, behind in (({}, BEHIND), ({"link_latency_s": 0.04}, [])):
        steps = [*STORIES[name], *behind]
        found = played(steps, release, timing=timing)
        with monkeypatch.context() as patch:
            patch.setattr(first_elections, "start_of", lambda _turn, _name: None)
            wanted = played(steps, release, timing=timing)
        assert outcome_json(found) == outcome_json(wanted)
        states = [run.moment().state for run in (found, wanted)]
        assert sorted(states[0].agenda) == sorted(states[1].agenda)
        assert replace(states[0], agenda=()) == replace(states[1], agenda=())


@pytest.mark.parametrize("kind", ["quorum", "stream"])
def test_first_election_is_simulated_once_for_many_queues(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    happened, step = Counter(), advance.step
    monkeypatch.setattr(advance, "step", lambda turn: happened.update([turn.step]) or step(turn))
    played(declared(*MANY, kind=kind), "4.3").moment()
    assert min(happened.values()) <= 2 < 15 < max(happened.values())
    assert sum(count > 15 for count in happened.values()) <= 4  # five nodes draw the time of its own election timer
