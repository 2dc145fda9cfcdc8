"""Reading whole logs of real clusters: the driver's steps are found in any file layout, and no client is named."""

from __future__ import annotations

import gzip
import random
import re
from collections.abc import Iterable, Iterator
from datetime import timedelta
from functools import cache
from pathlib import Path

import msgspec
import pytest
from conftest import LONG
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kept_logs import DATA, STORIES, logs, scenario_of, short_cuts, story_of, text, title
from samples import each_third

from hawb.broker.node_logs import WRITTEN_S
from hawb.incident import reading
from hawb.incident.entries import EPOCH, Reader
from hawb.incident.events import Event
from hawb.incident.reading import Reading, read_file, read_logs
from hawb.scenario import verbs
from hawb.scenario.document import Step

HEAD, NEXT = (f"2026-11-27 08:55:{second}.694468+00:00 [info] <0.1.0>" for second in (31, 32))
ONE = DATA / "logs" / "3.10" / "partition-autoheal"
IN_A_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=12)
ALSO_CHANGED = STORIES if LONG else STORIES[::3]
"""The stories whose logs are read in JSON, and with made-up clients, too: those of `make test`."""
QUORUM = {"x-queue-type": "quorum"}


@cache
def whole(story: Path) -> Reading:
    """Return the reading of all logs of a story, with clients."""
    return read_logs([story], clients=True)


def writer(log: Path, story: Path) -> str:
    """Return the Erlang name of the node that wrote a log."""
    name = re.split(r"[.-]", log.name)[0]
    return next(erlang for erlang, called in story_of(story)["names"].items() if called == name)


def facts_of(events: Iterable[Event], names: dict[str, str] | None = None) -> set[tuple]:
    """What events tell, whatever file they are in; without `names` whoever wrote them."""
    return {(event.at_us, event.kind, event.peer, event.queue, event.nodes, event.name, event.reason, event.term,
             event.count, names and names[event.node]) for event in events}  # fmt: skip


# What the driver did


def done(step: Step, down: set[str]) -> Iterator[tuple[str, str | None, str | None]]:
    """(kind, writer, node or name that it is about) of what a step must leave in the logs; None: whoever it is. `down`
    are the nodes that do not run, which the step may change: they are asked for nothing."""
    match step.verb:
        case verbs.Stop(nodes=nodes):
            yield from (("node_stopping", node, None) for node in nodes)
        case verbs.Start(nodes=nodes):
            yield from (("node_starting", node, None) for node in nodes)
        case verbs.Kill(nodes=nodes):
            yield from (("node_down", None, node) for node in nodes)
        case verbs.Partition(groups=groups) if len(groups) == 2:
            yield from (("node_down", here, there) for one, other in (groups, groups[::-1]) for here in one
                        for there in other[:1])  # fmt: skip
        case verbs.Drain(node=node) if node not in down:
            yield "maintenance_begun", node, None
        case verbs.Revive(node=node) if node not in down:
            yield "maintenance_ended", node, None
        case verbs.Alarm(node=node):
            yield "alarm_set", node, node
        case verbs.ClearAlarm(node=node):
            yield "alarm_cleared", node, node
        case verbs.Shrink(node=node):
            yield "member_removing", None, node
        case verbs.SetPolicy(name=name):
            yield "policy_set", None, name
        case verbs.Declare(queue=queue, arguments=arguments) if arguments.get("x-queue-type") == "quorum":
            yield "leader_elected", None, queue
    if isinstance(step.verb, verbs.Stop | verbs.Kill | verbs.PowerOff):
        down |= {*step.verb.nodes}
    elif isinstance(step.verb, verbs.Start):
        down -= {*step.verb.nodes}


def about(event: Event, names: dict[str, str]) -> str | None:
    """Return the node, policy or queue of an event as the scenario names it."""
    if event.kind in ("policy_set", "leader_elected"):
        return event.name if event.kind == "policy_set" else event.queue
    return names.get(event.peer or "")


@pytest.mark.parametrize("story", each_third(STORIES), ids=title)
def test_logs_of_a_story_are_read_as_it_was_played(story: Path, subtests: pytest.Subtests, tmp_path: Path):
    facts, reading = story_of(story), whole(story)
    with subtests.test(msg="each step of the driver is in the logs"):
        assert not missing(story)
    with subtests.test(msg="the node that leads at the end was promoted or elected last"):
        last = last_leaders(story)
        for queue, found in facts["queues"].items():
            if found.get("leader") and queue in last:
                assert last[queue] == found["leader"]
    with subtests.test(msg="each node boots as its own release"):
        starts = {event.node: event.release for event in reading.events if event.kind == "node_starting"}
        assert starts.keys() <= facts["names"].keys()
        assert set(starts.values()) == {facts["release"]}
    with subtests.test(msg="the clocks of one machine agree"):
        assert all(abs(clock.offset_us) < 200_000 for clock in reading.clocks.values() if clock.pairs)
    if story not in ALSO_CHANGED:
        return
    if "3.8" not in title(story):
        with subtests.test(msg="logs in JSON have the same events"):
            check_json(story, tmp_path / "json")
    with subtests.test(msg="no client is named unless the caller asks for clients"):
        check_secrets(story, tmp_path / "secrets")


def missing(story: Path) -> list[tuple[int, str, str | None, str | None]]:
    """Return the events that the steps of a story must leave in its logs and that are missing, as (step, kind, writer,
    subject)."""
    facts, events = story_of(story), whole(story).events
    names, steps = facts["names"], scenario_of(story).steps
    begun = {place: at_s for at_s, place in facts["begun"] if place is not None}
    ends = max(at_s for at_s, _ in facts["begun"])
    # Of 3.8 a node that is killed takes the lines of its last second with it.
    kills = [begun[place] for place, step in enumerate(steps) if isinstance(step.verb, verbs.Kill)]
    unwritten = {place for place, at_s in begun.items() for kill_s in kills
                 if facts["release"].startswith("3.8") and kill_s - WRITTEN_S < at_s < kill_s}  # fmt: skip
    unwritten |= short_cuts(story) | {error["step"] for error in facts.get("errors", ())}

    def since(wanted: tuple[str, str | None, str | None], begun_s: float) -> float:
        """Return the moment from which an event counts: the node's last boot for a stop, since a node that has paused
        does not stop again at the driver's command."""
        if wanted[0] != "node_stopping":
            return begun_s
        boots = (event.at_us / 1e6 for event in events
                 if event.kind == "node_starting" and names[event.node] == wanted[1])  # fmt: skip
        return max((at_s for at_s in boots if at_s <= begun_s), default=0.0)

    down: set[str] = set()
    return [
        (place, *wanted)
        for place, step in enumerate(steps)
        for wanted in done(step, down) if place in begun and place not in unwritten
        if not any(
            event.kind == wanted[0] and since(wanted, begun[place] - 1) <= event.at_us / 1e6 <= ends + 5
            and wanted[1] in (None, names[event.node]) and wanted[2] in (None, about(event, names))
            for event in events
        )
    ]  # fmt: skip


def last_leaders(story: Path) -> dict[str, str]:
    """Return, for each queue, the node that was promoted or elected last according to the logs."""
    names, last = story_of(story)["names"], {}
    for event in whole(story).events:
        if event.kind == "leader_elected" and event.queue:
            last[event.queue] = names[event.node]
        elif event.kind == "mirror_promoted":
            last[event.queue] = names[event.peer]
    return last


def check_json(story: Path, folder: Path) -> None:
    """Write the logs of a story in JSON into a new folder, as `rabbit_logger_json_fmt` does: one message per line, with
    its text, its time and its process. Compare the events."""
    folder.mkdir()
    for log in logs(story):
        entries = Reader().entries(text(log).splitlines())
        documents = [{"time": (EPOCH + timedelta(microseconds=entry.at_us)).isoformat(" ", "microseconds"),
                      "level": entry.level, "msg": entry.text, "pid": entry.pid, "domain": "rabbitmq"}
                     for entry in entries]  # fmt: skip
        (folder / f"{writer(log, story)}.log").write_bytes(b"\n".join(map(msgspec.json.encode, documents)))
    names = story_of(story)["names"]
    assert facts_of(read_logs([folder], clients=True).events, names) == facts_of(whole(story).events, names)


def check_secrets(story: Path, folder: Path) -> None:
    """Write the logs of a story into a new folder, with made-up users, names and addresses of clients. Require that
    none of them is read, unless the caller asks for clients."""
    folder.mkdir()
    secrets = {"guest": "Qxuser7", "10.77.0.254": "192.0.2.77"}
    secrets |= {event.connection: "Qxname7 of Zoë" for event in whole(story).events
                if event.kind == "connection_named" and event.connection != "default"}  # fmt: skip
    for file in logs(story):
        log = text(file)
        for secret, changed in secrets.items():
            log = log.replace(f"- {secret}", f"- {changed}").replace(f"name: {secret}", f"name: {changed}")
            log = log.replace(f"'{secret}'", f"'{changed}'").replace(f"({secret}:", f"({changed}:")
        (folder / file.name).write_bytes(gzip.compress(log.encode()))
    plain, asked = read_logs([folder]), read_logs([folder], clients=True)
    output = msgspec.json.encode([plain.events, [list(key) for key in plain.unknown]]).decode()
    assert not [changed for changed in ("Qxuser7", "192.0.2.77", "Qxname7", "Zoë", "guest") if changed in output]
    assert any(event.connection for event in asked.events) == any(
        event.kind.startswith("connection_") for event in asked.events
    )


def test_reported_line_contains_the_message():
    for event in whole(ONE).events:
        if event.kind in ("node_up", "node_down", "rabbit_up", "rabbit_down"):
            line = text(Path(event.file)).splitlines()[event.line - 1]
            assert event.peer in line and (" up" in line or " down" in line)


def test_reasons_contain_no_client_names(tmp_path):
    """The reason of a refused client contains its name."""
    file = tmp_path / "rabbit@a.log"
    head = "2026-11-27 08:55:31.694 [error] <0.1.0>"
    file.write_text(f"{head} Error on AMQP connection <0.1.0> (192.0.2.7:1 -> 192.0.2.1:5672, state: starting):\n"
                    "PLAIN login refused: user 'Qxuser' - invalid credentials of Qxuser\n")  # fmt: skip
    (event,) = read_logs([file]).events
    assert event.reason == "PLAIN login refused: user <text> - invalid credentials of <word>"


# However the files come


def pieces(log: str, count: int, chance: random.Random) -> list[str]:
    """Split a log at messages, as log rotation does."""
    lines = log.splitlines(keepends=True)
    begins = [place for place in range(1, len(lines))
              if lines[place][:1].isdigit() and lines[place][:26] != lines[place - 1][:26]]  # fmt: skip
    cuts = sorted(chance.sample(begins, min(len(begins), count - 1)))
    return ["".join(lines[begin:end]) for begin, end in zip([0, *cuts], [*cuts, len(lines)], strict=True)]


@IN_A_FOLDER
@given(seed=st.integers(0, 2**32), story=st.sampled_from(STORIES))
def test_rotated_and_compressed_files_give_the_same_events(tmp_path_factory, seed, story):
    chance, folder = random.Random(seed), tmp_path_factory.mktemp("rotated")
    names = story_of(story)["names"]
    files = []
    for file in logs(story):
        for place, piece in enumerate(pieces(text(file), 3, chance)):
            files.append(folder / f"{writer(file, story)}.log.{file.stem}-{place}{'.gz' * (place > 0)}")
            files[-1].write_bytes(gzip.compress(piece.encode()) if place else piece.encode())
    chance.shuffle(files)
    found = read_logs(files, clients=True)
    assert facts_of(found.events, names) == facts_of(whole(story).events, names)


@IN_A_FOLDER
@given(seed=st.integers(0, 2**32), story=st.sampled_from(STORIES))
def test_nodes_mixed_in_one_file_are_separated(tmp_path_factory, seed, story):
    chance, file = random.Random(seed), tmp_path_factory.mktemp("mixed") / "compose.log"
    names, queues = story_of(story)["names"], {}
    for log in logs(story):
        queues.setdefault(names[writer(log, story)], []).extend(text(log).splitlines())
    mixed = []
    while any(queues.values()):
        who = chance.choice([who for who, lines in queues.items() if lines])
        mixed.append(f"{who}  | {queues[who].pop(0)}\n")
    file.write_text("".join(mixed))
    assert facts_of(read_logs([file], clients=True).events, names) == facts_of(whole(story).events, names)


@IN_A_FOLDER
@given(data=st.data(), story=st.sampled_from(STORIES))
def test_truncated_file_gives_no_additional_events(tmp_path_factory, data, story):
    folder = tmp_path_factory.mktemp("cut")
    entire_log = text(data.draw(st.sampled_from(logs(story)))).encode()
    begin = data.draw(st.integers(0, len(entire_log)))
    end = data.draw(st.integers(begin, len(entire_log)))
    (folder / "whole.log").write_bytes(entire_log)
    (folder / "cut.log").write_bytes(entire_log[begin:end])
    cut, entire = read_file(folder / "cut.log"), read_file(folder / "whole.log")
    last = cut.events[-1:]  # what it says may be cut too
    assert facts_of(cut.events) - facts_of(last) <= facts_of(entire.events)
    assert not cut.refused


@IN_A_FOLDER
@given(st.lists(st.one_of(
    st.binary(max_size=200),
    st.text(max_size=100).map(lambda said: f"2026-11-27 08:55:31.694468+00:00 [info] <0.1.0> {said}".encode()),
    st.text(max_size=100).map(lambda said: f'{{"MESSAGE": "{said}", "PRIORITY": "6"}}'.encode()),
    st.sampled_from([b'{"MESSAGE": [300], "PRIORITY": 9}', b'{"msg": 5, "level": 5, "time": 1e400}', b"{" * 5000,
                     b'{"log": 5}', b"9999-99-99 99:99:99.999 [info] <0.1.0> node rabbit@b up",
                     b'{"msg": "node rabbit@b up", "level": "info", "time": -1e300}',
                     b"Feb 30 25:61:00 host rabbit[1]: node rabbit@b up", b"\x1f\x8b garbage"]),
), max_size=20), st.sampled_from([b"", b"\x1f\x8b", b"BZh9", b"\xfd7zXZ\x00", gzip.compress(b"x")[:-3]]))  # fmt: skip
def test_garbage_is_counted_and_does_not_raise(tmp_path_factory, lines, begins):
    file = tmp_path_factory.mktemp("garbage") / "rabbit.log"
    file.write_bytes(begins + b"\n".join(lines))
    read_logs([file])


def test_truncated_compressed_file_is_read_to_its_end(tmp_path):
    packed = logs(ONE)[0].read_bytes()
    (tmp_path / "a.log.gz").write_bytes(packed[: len(packed) * 3 // 4])
    found = read_file(tmp_path / "a.log.gz")
    assert found.refused and found.events and found.lines


@pytest.mark.parametrize(("name", "node"), [("a-crash.log", "rabbit@a"), ("a_upgrade.log", "rabbit@a"),
                                            ("c-crash.log", "c-crash")])  # fmt: skip
def test_unnamed_file_belongs_to_the_node_of_the_log_beside_it(tmp_path, name, node):
    for one in ("a", "b"):
        (tmp_path / f"{one}.log").write_text(f"{HEAD}  node           : rabbit@{one}\n{NEXT} node rabbit@c up\n")
    (tmp_path / name).write_text(f"{HEAD} node rabbit@d up\n")
    assert [event.node for event in read_logs([tmp_path]).events if event.peer == "rabbit@d"] == [node]


def test_unnamed_file_belongs_to_the_node_of_its_folder(tmp_path):
    (tmp_path / "rabbit.log").write_text(f"{HEAD}  node           : rabbit@a\n{NEXT} node rabbit@c up\n")
    (tmp_path / "crash.log").write_text(f"{HEAD} node rabbit@d up\n")
    assert {event.node for event in read_logs([tmp_path]).events} == {"rabbit@a"}


def test_event_logged_twice_counts_once():
    twice = read_logs([*logs(ONE), ONE])
    assert twice.repeated == 0  # a file that is given twice is one
    assert len(twice.events) == len(whole(ONE).events)


def test_copy_of_a_file_adds_no_events(tmp_path):
    for file in logs(ONE):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    doubled = read_logs([ONE, tmp_path])
    assert len(doubled.events) == len(whole(ONE).events) == doubled.repeated


def test_missing_path_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_logs([tmp_path / "rabbit.log"])


def test_too_many_templates_are_counted_together(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "MOST_TEMPLATES", 2)
    file = tmp_path / "rabbit.log"
    file.write_text("".join(f"2026-11-27 08:55:31.694 [info] <0.1.0> the {'queue ' * n}\n" for n in range(9)))
    assert sum(read_file(file).unknown.values()) == 9
    assert len(read_file(file).unknown) == 3


def test_log_in_reverse_order_gives_the_same_events(tmp_path):
    """Log services show lines in this order."""
    for log in logs(ONE):
        lines = text(log).splitlines()
        (tmp_path / f"{log.name}.log").write_text("\n".join(reversed(lines)) + "\n", encoding="utf-8")
    found = read_logs([tmp_path], clients=True)
    assert all(file.newest_first for file in found.files)
    assert facts_of(found.events) == facts_of(whole(ONE).events)
    assert [(event.at_us, event.kind) for event in found.events] == [
        (event.at_us, event.kind) for event in whole(ONE).events
    ]  # fmt: skip
