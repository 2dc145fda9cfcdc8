"""Log messages of every format, and truncated messages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from hawb.incident.entries import Reader, newest_first

AT_US = 1_795_769_731_694_468
"""2026-11-27 08:55:31.694468 UTC."""
LAST = datetime(2026, 11, 28, tzinfo=UTC)
SAID = "node 'rabbit@b' up"
NEW = f"2026-11-27 08:55:31.694468+00:00 [info] <0.400.0> {SAID}"


def read(text: str, **options):
    return list(Reader(last=LAST, **options).entries(text.splitlines(keepends=True)))


WRAPPED = [
    (NEW, AT_US, "info", ""),
    (f"2026-11-27 09:55:31.694468+01:00 [info] <0.400.0> {SAID}", AT_US, "info", ""),
    (f"2026-11-27T08:55:31.694468Z [info] <0.400.0> {SAID}", AT_US, "info", ""),
    (f"2026-11-27 08:55:31.694 [info] <0.400.0> {SAID}", AT_US - 468, "info", ""),
    (f"\x1b[38;5;214m{NEW}\x1b[0m", AT_US, "info", ""),
    (f"2026-11-27T08:55:32.000000001Z {NEW}", AT_US, "info", ""),
    (f"2026-11-27T08:55:32.5Z stdout F {NEW}", AT_US, "info", ""),
    (f"rabbit-b_1  | {NEW}", AT_US, "info", "rabbit-b_1"),
    (f"\x1b[36mrabbit_b |\x1b[0m {NEW}", AT_US, "info", "rabbit_b"),
    (f"rabbit_b | 2026-11-27T08:55:32.5Z {NEW}", AT_US, "info", "rabbit_b"),
    (f"[pod/rabbit-0/rabbitmq] {NEW}", AT_US, "info", "rabbit-0"),
    (f"Nov 27 08:55:32 host-b rabbitmq-server[812]: {NEW}", AT_US, "info", "host-b"),
    (f"Fri 2026-11-27 08:55:32 UTC host-b rabbitmq-server[812]: {NEW}", AT_US, "info", "host-b"),
    (f"2026-11-27T08:55:32+0000 host-b rabbitmq-server[812]: {NEW}", AT_US, "info", "host-b"),
    (f"Nov 27 08:55:31.694468 host-b rabbit[812]: [info] <0.400.0> {SAID}", AT_US, "info", "host-b"),
    (f"Dec 31 23:59:59 host-b rabbit[812]: [info] <0.400.0> {SAID}",
     round(datetime(2025, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp()) * 1_000_000, "info", "host-b"),
    ("Fri 2026-11-27 08:55:31.694468 UTC host-b rabbitmq-server[812]: " + SAID, AT_US, "", "host-b"),
    ('{"time":"2026-11-27 08:55:31.694468+00:00","level":"info","msg":"' + SAID + '","pid":"<0.400.0>"}',
     AT_US, "info", ""),
    ('{"level":"info","msg":"' + SAID + '","time":1795769731694468}', AT_US, "info", ""),
    ('{"log":"' + NEW + '\\n","stream":"stdout","time":"2026-11-27T08:55:32Z"}', AT_US, "info", ""),
    ('{"MESSAGE":"' + NEW + '","_HOSTNAME":"host-b","__REALTIME_TIMESTAMP":"1"}', AT_US, "info", "host-b"),
    ('{"MESSAGE":"' + SAID + '","_HOSTNAME":"host-b","PRIORITY":"6","__REALTIME_TIMESTAMP":"1795769731694468"}',
     AT_US, "info", "host-b"),
    ('{"MESSAGE":' + str(list(NEW.encode())) + ',"PRIORITY":"6"}', AT_US, "info", ""),
    (f"=INFO REPORT==== 27-Nov-2026::08:55:31.694 ===\n{SAID}", AT_US - 468, "info", ""),
    (f"> =INFO REPORT==== 27-Nov-2026::08:55:31.694468 ===\n> {SAID}", AT_US, "info", ""),
    (f"> > {NEW}", AT_US, "info", ""),
    (f"    {NEW}", AT_US, "info", ""),
    (f"  Starting broker...{NEW}", AT_US, "info", ""),
    (f"rabbit_b |   Starting broker...{NEW}", AT_US, "info", "rabbit_b"),
    (f"#033[38;5;87m{NEW}#033[0m", AT_US, "info", ""),
    (NEW.replace("[info]", "[info[]"), AT_US, "info", ""),
    (f"2026-11-27T08:55:32.5Z\t{NEW}", AT_US, "info", ""),
    (f"Nov 27, 2026 @ 08:55:32.100 rabbit-0 {NEW}", AT_US, "info", "rabbit-0"),
    (f"Nov 27, 2026 @ 08:55:31.694 [info] <0.400.0> {SAID}", AT_US - 468, "info", ""),
    (f"rabbit-0 rabbitmq {NEW}", AT_US, "info", "rabbit-0"),
    (f"space/rabbit-0[rabbitmq]: {NEW}", AT_US, "info", "rabbit-0"),
    (f'2026-11-27T08:55:32Z {{app="rabbitmq", pod="rabbit-0"}} {NEW}', AT_US, "info", "rabbit-0"),
    (f"812:{NEW}", AT_US, "info", ""),
    (f"logs/rabbit@b.log:812:{NEW}", AT_US, "info", "rabbit@b"),
    (f"machine # [   32.515528] rabbitmq-server[799]: {NEW}", AT_US, "info", "machine"),
    (f'"rabbit-0","11/27/2026, 8:55:31.694 AM","{NEW}"', AT_US, "info", "rabbit-0"),
    (f'            "message": "{NEW}",', AT_US, "info", ""),
    ('{"@timestamp":"2026-11-27T08:55:32Z","message":"' + NEW + '","kubernetes":{"pod":{"name":"rabbit-0"}}}',
     AT_US, "info", "rabbit-0"),
    ('{"log":"' + NEW + '","stream":"stdout","kubernetes":{"pod_name":"rabbit-0"}}', AT_US, "info", "rabbit-0"),
    ('{"line":"' + NEW + '","timestamp":"1795769732000000000","labels":{"pod":"rabbit-0"}}', AT_US, "info",
     "rabbit-0"),
    ('{"severity":"info","message":"' + SAID + '","ts":1795769731.694468,"host":"b"}', AT_US, "info", "b"),
    ('{"severity_text":"info","timestamp":"2026-11-27T08:55:31.694468Z","record":{"message":"' + SAID + '"}}',
     AT_US, "info", ""),
    ('rabbit-0 rabbitmq {"time":"2026-11-27 08:55:31.694468+00:00","level":"info","msg":"' + SAID + '"}',
     AT_US, "info", "rabbit-0"),
]  # fmt: skip
"""One message in every form that it may have in a log: (line, time, level, writer)."""


def test_message_is_parsed_alike_in_every_format(subtests: pytest.Subtests):
    for line, at_us, level, who in WRAPPED:
        with subtests.test(msg="text, time, level, writer and place", line=line):
            (entry,) = read(line + "\n")
            assert (entry.text.strip(), entry.at_us, entry.level, entry.who, entry.line) == (SAID, at_us, level, who, 1)


@pytest.mark.parametrize(
    ("written", "level"),
    [("warning", "warning"), ("WARNING", "warning"), ("erro", "error"), ("ntc", "notice"), ("shop", "")],
)
def test_levels_have_their_names(written, level):
    (entry,) = read(f"2026-11-27 08:55:31.694468+00:00 [{written}] <0.400.0> {SAID}\n")
    assert entry.level == level


def test_time_without_a_zone_uses_the_given_zone():
    (entry,) = read(f"2026-11-27 10:55:31.694 [info] <0.1.0> {SAID}", zone=timezone(timedelta(hours=2)))
    assert entry.at_us == AT_US - 468


def test_lines_with_the_same_time_and_process_are_one_message():
    head = "2026-11-27 08:55:31.694468+00:00 [info] <0.400.0>"
    entries = read(f"{head} Autoheal decision\n{head}   * Winner:     'rabbit@b'\n{head}\n{NEW[:-1]}\n"
                   f"2026-11-27 08:55:31.694468+00:00 [info] <0.401.0> other\n")  # fmt: skip
    assert [(entry.line, entry.text.split("\n")[0]) for entry in entries] == [(1, "Autoheal decision"), (5, "other")]
    assert "* Winner:     'rabbit@b'" in entries[0].text


def test_two_messages_of_one_millisecond_are_separate():
    head = "2026-11-27 08:55:31.694 [info] <0.400.0>"
    assert [entry.text for entry in read(f"{head} one\n{head} two\ngoes on\n")] == ["one", "two\ngoes on"]


def test_reports_of_lagers_crash_log_are_messages():
    (entry,) = read("2026-11-27 08:55:31 =CRASH REPORT====\n  crasher:\n    initial call: rabbit_prequeue:init/1\n")
    assert (entry.level, entry.at_us) == ("crash", AT_US // 1_000_000 * 1_000_000)
    assert "rabbit_prequeue:init/1" in entry.text


def test_line_split_by_a_container_runtime_is_joined():
    (entry,) = read(f"2026-11-27T08:55:32Z stdout P {NEW[:60]}\n2026-11-27T08:55:32Z stdout F {NEW[60:]}\n")
    assert entry.text == SAID


def test_messages_of_mixed_writers_are_separated():
    entries = read("a | 2026-11-27 08:55:31.694 [error] <0.1.0> one\nb | 2026-11-27 08:55:31.694 [error] <0.1.0> two\n"
                   "a | of a\nb | of b\n")  # fmt: skip
    assert {(entry.who, entry.text) for entry in entries} == {("a", "one\nof a"), ("b", "two\nof b")}


def test_journald_lines_without_levels_are_separate_messages():
    head = "Nov 27 08:55:31 host-b rabbitmq-server[812]:"
    assert [entry.text for entry in read(f"{head} one\n{head} two\n{head} {NEW}\n{head} goes on\n")] == [
        "one", "two", f"{SAID}\ngoes on",
    ]  # fmt: skip


def test_prefix_of_a_writer_is_the_same_on_each_line():
    head = "2026-11-27 08:55:31.694 [error] <0.1.0>"
    entries = read(f"pod-a rabbitmq {head} one\npod-b rabbitmq {head} two\npod-a rabbitmq  of a\npod-a rabbitmq\n"
                   f"pod-b rabbitmq  of b\n")  # fmt: skip
    found = {(entry.who, entry.text.rstrip()) for entry in entries}
    assert found == {("pod-a", "one\n of a"), ("pod-b", "two\n of b")}


def test_message_without_a_date_has_no_time():
    entries = read(f"08:55:31.694 [info] <0.1.0> {SAID}\n[notice] other\n")
    assert [(entry.text, entry.at_us, entry.level) for entry in entries] == [
        (SAID, None, "info"), ("other", None, "notice"),
    ]  # fmt: skip


def test_old_style_report_extends_to_the_next():
    at = "7-Feb-2026::08:55:31 ==="
    entries = read(f"=INFO REPORT==== {at}\none\n * two\n\n=ERROR REPORT==== {at}\nthree\n")
    assert [(entry.level, entry.text.strip()) for entry in entries] == [("info", "one\n * two"), ("error", "three")]


def test_log_in_reverse_order_is_recognised_by_its_times():
    lines = [f"2026-11-27 08:55:{second:02}.694 [info] <0.1.0> one\n" for second in range(9)]
    assert newest_first(lines[::-1])
    assert not newest_first(lines)
    assert not newest_first([*lines, *lines, *lines, *lines])
    assert not newest_first(lines[:3:-1][:3])


def test_remains_of_truncated_messages_are_counted():
    reader = Reader(last=LAST)
    entries = list(reader.entries([" end of a message\n", "\n", f"{NEW}\n"]))
    assert [entry.line for entry in entries] == [3]
    assert reader.cut == 1
