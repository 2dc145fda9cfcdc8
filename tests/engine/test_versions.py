"""Large maps of moments behave as copied dicts but cost only what changes."""

from __future__ import annotations

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from hawb.engine.core import versions
from hawb.engine.core.versions import Open, Version, closed, opened
from hawb.scenario.load import read_scenario
from hawb.scenario.outcome import outcome, outcome_json
from hawb.scenario.run import Run

WRITES = st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["set", "delete", "default"])), max_size=6)
TURNS = st.lists(st.tuples(st.integers(0, 9), WRITES, st.booleans()), max_size=12)


def write(entries: dict[str, object], writes: list[tuple[int, str]], value: object) -> None:
    """Carry out writes as handlers do."""
    for key, kind in writes:
        name = f"q{key}"
        if kind == "set":
            entries[name] = value
        elif kind == "delete":
            entries.pop(name, None)
        else:
            entries.setdefault(name, value)


@given(st.integers(0, 8), TURNS)
def test_version_equals_a_copied_dict(size: int, turns: list[tuple[int, list, bool]]):
    first = {f"q{number}": 0 for number in range(size)}
    kept, copies = [Version(Open(first))], [first]
    for number, (begins_with, writes, finishes) in enumerate(turns):
        begins_with %= len(kept)
        entries, copy = opened(kept[begins_with]), dict(copies[begins_with])
        write(entries, writes, number)
        write(copy, writes, number)
        assert list(entries.items()) == list(copy.items())
        if finishes:  # a turn may also be given up
            kept.append(closed(entries, kept[begins_with]))
            copies.append(copy)
    for version, copy in zip(kept, copies, strict=True):
        assert list(version.items()) == list(copy.items())
        assert version == copy and len(version) == len(copy) and list(version) == list(copy)


def test_equal_value_stays_the_same_object():
    entries = {f"q{number}": [number] for number in range(100)}
    before = Version(Open(entries))
    after = opened(before)
    after["q1"], after["q2"] = [1], ["new"]
    then = closed(after, before, {"q1", "q2"})
    assert then["q1"] is entries["q1"] and then["q2"] == ["new"] and before["q2"] == [2]


def test_iterating_over_a_version_is_safe_while_a_turn_continues_from_it():
    before = Version(Open({f"q{number}": 0 for number in range(100)}))
    seen = []
    for name in before:
        after = opened(before)
        after[name], after[f"new-{name}"] = 1, 1
        closed(after, before)
        seen.append(before[name])
    assert seen == [0] * 100 and len(before) == 100


STORY = [
    {"set_policy": {"name": "p", "pattern": "q", "definition": {"ha-mode": "all", "message-ttl": 60_000}}},
    *({"declare": {"queue": f"q{number}", "node": "a", "arguments": {"x-expires": 10**6}}} for number in range(6)),
    *({"publish": {"queue": f"q{number}", "count": 3}} for number in range(6)),
    {"declare": {"queue": "qq", "arguments": {"x-queue-type": "quorum"}}},
    {"consume": {"queue": "q1", "consumer": "c", "rate": 1}},
    {"delete": {"queue": "q0"}},
    {"declare": {"queue": "q0", "exclusive": True}},
    {"declare": {"queue": "q2", "durable": False}},
    {"kill": "a"},
    {"publish": {"queue": "qq", "count": 3}},
    {"start": "a"},
    {"wait": 70},
]


def test_outcome_is_the_same_with_copied_and_shared_maps(monkeypatch):
    scenario = {"scenario": "t", "cluster": {"nodes": ["a", "b", "c"], "version": "3.10"}, "steps": STORY}
    copied = Run.of(read_scenario(scenario))
    monkeypatch.setattr(versions, "SMALL", 0)
    handed_on = Run.of(read_scenario(scenario))
    aside = handed_on.rewound(9)
    aside.apply_plain({"kill": ["b", "c"]})
    assert outcome_json(handed_on) == outcome_json(copied)
    for steps in range(len(STORY)):
        assert outcome(handed_on, handed_on.moment(steps)) == outcome(copied, copied.moment(steps))


def kept_by_steps(queues: int) -> int:
    """Return how many bytes a run keeps of fifty steps with so many queues."""
    standing = [{"queue": f"q{number}", "arguments": {"x-expires": 10**6}} for number in range(queues)]
    cluster = {"nodes": ["a", "b", "c"], "version": "3.10"}
    run = Run.of(read_scenario({"scenario": "t", "cluster": cluster, "queues": standing, "steps": []}))
    run.apply_plain({"publish": {"queue": "q1", "count": 1}})
    tracemalloc.start()
    for number in range(25):
        run.apply_plain({"declare": {"queue": f"new{number}"}})
        run.apply_plain({"publish": {"queue": f"q{number}", "count": 1}})
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return kept


def test_memory_of_a_step_grows_with_its_changes_not_with_the_number_of_queues():
    assert kept_by_steps(1600) < 2 * kept_by_steps(200)
