"""Loading hostile, odd and truncated files: each loads or is refused with its place."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from refusals import HEAD, refused
from scenario_strategies import plain_values, scenarios

from hawb.scenario import text
from hawb.scenario.document import Step
from hawb.scenario.dump import dump, plain
from hawb.scenario.load import ScenarioRefused, load
from hawb.scenario.verbs import Wait


def laughs(levels: int) -> str:
    """Return nested lists by aliases, ten times as long with each level ("billion laughs")."""
    lines = ["l0: &l0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"l{level}: &l{level} [{', '.join([f'*l{level - 1}'] * 10)}]" for level in range(1, levels)]
    return "\n".join(lines)


NASTY = {
    "empty": ("", "the file is empty"),
    "only a comment": ("# nothing\n", "the file is empty"),
    "null": ("~", "not a map"),
    "text": ("drill.yaml", "not a map"),
    "list": ("[1]", "not a map"),
    "binary": (b"\x89PNG\r\n\x1a\n\x00\xff", "not text"),
    "utf-16 that breaks off": ("scenario: t".encode("utf-16")[:-1], "not text"),
    "nul": ("scenario: \x00", "not YAML"),
    "an incomplete surrogate": ("scenario: \ud800", "not text"),
    "an incomplete surrogate in JSON": ('{"scenario": "\\ud800"}', "an incomplete surrogate pair"),
    "truncated map": ("scenario: t\ncluster: {nodes: [a", "not YAML"),
    "truncated text": ('scenario: "t', "not YAML"),
    "truncated JSON": ('{"scenario": "t", "cluster"', "not YAML"),
    "tab": ("scenario: t\ncluster:\n\tnodes: [a]", "not YAML"),
    "two documents": (f"{HEAD}---\n{HEAD}", "a second document begins"),
    "code": ("scenario: !!python/object/apply:os.system [ls]", "a YAML tag"),
    "name of code": ("!!python/name:os.system", "a YAML tag"),
    "custom tag": ("scenario: !mine t", "a YAML tag"),
    "binary tag": ("scenario: !!binary aGk=", "a YAML tag"),
    "key twice": (f"{HEAD}seed: 1\nseed: 2", "a map has the same key twice"),
    "key twice in JSON": ('{"seed": 1, "seed": 2}', "a map has the same key twice"),
    "key that is no text": ("on: 1", "a key is not text"),
    "key that is a list": ("? [a]\n: 1", "a key is not text"),
    "merge": ("base: &b {seed: 1}\n<<: *b", "a merge key"),
    "unknown alias": ("scenario: *t", "an alias without an anchor"),
    "alias in itself": ("scenario: &t [*t]", "an alias without an anchor"),
    "anchor twice": ("scenario: &t x\nseed: &t 1", "the same anchor is defined twice"),
    "laughs": (laughs(7), "too many values, aliases counted"),
    "deep by aliases": ("a0: &a0 [x]\n" + "\n".join(f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, 99)), "too deeply"),
    "deep lists": ("[" * 100_000, "nested too deeply"),
    "deep lists, closed": ("[" * 100_000 + "]" * 100_000, "nested too deeply"),
    "deep dashes": ("- " * 1000 + "x", "nested too deeply"),
    "deep JSON": ('{"a":' * 100_000 + "1" + "}" * 100_000, "nested too deeply"),
    "somewhat deep JSON": ('{"a":' * 50 + "1" + "}" * 50, "nested too deeply"),
    "long number": (f"seed: {'9' * 5000}", "too large a number"),
    "long number in JSON": (f'{{"seed": {"9" * 5000}}}', "too large a number"),
    "sixty to the power of many": (f"{HEAD}seed: {'1:' * 50_000}1", "a whole number"),
    "NaN in JSON": ('{"scenario": NaN}', "not a finite number"),
    "infinity in JSON": ('{"scenario": 1e999}', "not a finite number"),
    "no number": ("seed: 0b_", "not a number"),
    "large": (b"#" * (text.MAX_BYTES + 1), "too large"),
}


@pytest.mark.parametrize("name", NASTY)
def test_hostile_files_are_refused(each_parser, name):
    source, says = NASTY[name]
    assert says in str(refused(source))


def test_message_about_a_long_value_is_short():
    name = "n" * 100_000
    for tail in (f"seed: {name}", f"{name}: 1", f"steps: [kill: {name}]", f"steps: [partition: [[{name}], [{name}]]]"):
        assert len(str(refused(f"{HEAD}{tail}"))) < 400
    assert len(str(refused(f"scenario: t\ncluster: {{nodes: [{name}, {name}]}}"))) < 400


def test_impossible_number_in_json_is_refused_with_its_place():
    found = refused('{"scenario": "t", "cluster": {"nodes": ["a"]}, "steps": [{"wait": 1},\n{"wait": NaN}]}')
    assert (found.line, found.step, found.field) == (2, 1, "wait")


def test_parsing_error_has_line_and_column():
    found = refused("scenario: t\ncluster: [a, b: c: d]\n", "drill.yaml")
    assert str(found).startswith("drill.yaml, line 2: not YAML at column ")


def test_aliases_are_accepted():
    source = f"{HEAD}steps:\n- set_policy: {{name: x, pattern: x, definition: &d {{ha-mode: all}}}}\n"
    first, second = load(f"{source}- set_policy: {{name: y, pattern: y, definition: *d}}\n").steps
    assert first.verb.definition == second.verb.definition == {"ha-mode": "all"}


def test_json_numbers_and_escapes_are_read_as_json():
    source = '{"scenario": "\\ud83d\\udc07 \\/", "cluster": {"nodes": ["a"]}, "steps": [{"wait": 1e3}]}'
    loaded = load(source)
    assert loaded.scenario == "\N{RABBIT} /"
    assert loaded.steps == (Step(Wait(1000.0)),)


def test_flow_map_that_is_not_json_is_read_as_yaml():
    assert load("{scenario: t, cluster: {nodes: [a]}}").scenario == "t"


def test_byte_order_mark_is_ignored():
    assert load(b"\xef\xbb\xbf" + HEAD.encode()) == load("\ufeff" + HEAD) == load(HEAD)


def only_refuses(source) -> None:
    """Load a source. Require that a refusal has a printable message."""
    try:
        load(source)
    except ScenarioRefused as found:
        message = str(found)
        assert message.encode()
        assert len(message.splitlines()) <= 4, message


@given(st.data())
def test_mutated_text_loads_or_is_refused(data):
    content = dump(data.draw(scenarios)).encode()
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(content)))
        end = data.draw(st.integers(start, min(len(content), start + 8)))
        patch = data.draw(
            st.binary(max_size=4) | st.sampled_from([b"[", b"{", b": ", b"- ", b"&a ", b"*a", b"!!", b"\n"])
        )
        content = content[:start] + patch + content[end:]
    only_refuses(content)


def replace_one(data: st.DataObject, value):
    """Return the value with one part, chosen by hypothesis, replaced by any other value."""
    if isinstance(value, dict | list) and value and data.draw(st.integers(0, 4)):
        copy = dict(value) if isinstance(value, dict) else list(value)
        key = data.draw(st.sampled_from(list(value) if isinstance(value, dict) else range(len(value))))
        copy[key] = replace_one(data, value[key])
        return copy
    return data.draw(plain_values | st.just(float("inf")) | st.just(10**400))


@given(st.data())
def test_mutated_value_loads_or_is_refused(data):
    broken = replace_one(data, plain(data.draw(scenarios)))
    only_refuses(yaml.safe_dump(broken))
    if isinstance(broken, dict):
        only_refuses(json.dumps(broken))


@given(st.text() | st.binary())
def test_any_text_loads_or_is_refused(source):
    only_refuses(source)
