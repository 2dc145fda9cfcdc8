"""A policy written as commands comes back from them unchanged, whatever it holds."""

import json
import os
import re
import shlex
import subprocess
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hawb.rules.policies import Policy
from hawb.views.rules.policy_commands import (
    clear_arguments,
    http_clear,
    http_set,
    set_arguments,
    ui_clear,
    ui_set,
    unix_line,
    windows_line,
)

TWO = Policy.of("ha-two", "^two\\.", {"ha-mode": "exactly", "ha-params": 2}, apply_to="all")
SHOP = Policy.of("-p q", "-x", {"ha-mode": "nodes", "ha-params": ["a", "b"]}, priority=-1, vhost="my shop")

text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
awkward = st.text(st.sampled_from("ab\"'\\%^&|<>()! $`*?~#;=-\t"))
one_line = st.one_of(text, awkward).filter(lambda given: not re.search(r"[\r\n]", given))
values = st.one_of(text, awkward, st.integers(), st.booleans(), st.lists(text, max_size=3))
policies = st.builds(
    Policy.of,
    one_line,
    one_line,
    st.dictionaries(text, values, max_size=4),
    st.integers(-9, 9),
    st.sampled_from(["all", "queues"]),
    one_line,
)


def test_rabbitmqctl_on_unix():
    assert unix_line(set_arguments(TWO)) == (
        """rabbitmqctl set_policy ha-two '^two\\.' '{"ha-mode":"exactly","ha-params":2}'"""
    )
    assert unix_line(set_arguments(SHOP, operator=True)) == (
        "rabbitmqctl set_operator_policy '--vhost=my shop' --priority=-1 --apply-to=queues -- '-p q' -x"
        """ '{"ha-mode":"nodes","ha-params":["a","b"]}'"""
    )
    assert unix_line(clear_arguments(TWO)) == "rabbitmqctl clear_policy ha-two"
    assert unix_line(clear_arguments(SHOP, operator=True)) == (
        "rabbitmqctl clear_operator_policy '--vhost=my shop' -- '-p q'"
    )


def test_rabbitmqctl_on_windows():
    assert windows_line(set_arguments(TWO)) == (
        'rabbitmqctl.bat set_policy ha-two "^two\\." "{""ha-mode"":""exactly"",""ha-params"":2}"'
    )
    assert windows_line(["50%", 'a\\"b', "c d\\"]) == 'rabbitmqctl.bat "50"^%"" "a\\\\""b" "c d\\\\"'


@given(policies)
def test_unix_command_round_trips_the_policy(policy):
    arguments = shlex.split(unix_line(set_arguments(policy)))
    assert arguments == ["rabbitmqctl", *set_arguments(policy)]
    assert arguments[-3:-1] == [policy.name, policy.pattern]
    assert json.loads(arguments[-1]) == policy.definition


@settings(max_examples=25)
@given(policies)
def test_shell_parses_the_unix_command(policy):
    line = unix_line(set_arguments(policy)).replace("rabbitmqctl", "printf '%s\\0'", 1)
    printed = subprocess.run(["bash", "-c", line], capture_output=True, check=True).stdout
    assert printed.split(b"\0")[:-1] == [os.fsencode(argument) for argument in set_arguments(policy)]


@given(policies)
def test_windows_command_round_trips_the_policy(policy):
    seen_by_batch = cmd_reads(windows_line(set_arguments(policy)))
    assert program_reads(seen_by_batch) == ["rabbitmqctl.bat", *set_arguments(policy)]


def cmd_reads(line):
    """The line as cmd hands it on: no variable can be meant by what stands between two %, and carets go outside
    quotes."""
    assert not re.search(r"%[^\"^%]*%", line)
    read, quoted, characters = "", False, iter(line)
    for character in characters:
        if character == "^" and not quoted:
            character = next(characters)
        else:
            quoted ^= character == '"'
            assert quoted or character not in "&|<>()"
        read += character
    assert not quoted
    return read


def program_reads(line):
    """The arguments that Microsoft's C runtime makes of a line."""
    arguments, current, quoted, i = [], None, False, 0
    while i < len(line):
        slashes = len(line[i:]) - len(line[i:].lstrip("\\"))
        at = i + slashes
        if at < len(line) and line[at] == '"':
            current = (current or "") + "\\" * (slashes // 2)
            if slashes % 2:
                current, at = current + '"', at + 1
            elif quoted and line[at : at + 2] == '""':
                current, at = current + '"', at + 2
            else:
                quoted, at = not quoted, at + 1
        elif slashes:
            current = (current or "") + "\\" * slashes
        elif line[at] in " \t" and not quoted:
            if current is not None:
                arguments.append(current)
            current, at = None, at + 1
        else:
            current, at = (current or "") + line[at], at + 1
        i = at
    return arguments if current is None else [*arguments, current]


@pytest.mark.parametrize(("line", "character"), [(unix_line, "\0"), (windows_line, "\0"), (windows_line, "\n")])
def test_characters_that_a_command_line_cannot_hold_are_refused(line, character):
    with pytest.raises(ValueError, match="cannot be written in a"):
        line(["clear_policy", f"a{character}b"])


def test_the_http_api():
    assert http_set(TWO).method == "PUT"
    assert http_set(TWO).path == "/api/policies/%2F/ha-two"
    assert json.loads(http_set(TWO).body) == {
        "pattern": "^two\\.",
        "definition": {"ha-mode": "exactly", "ha-params": 2},
        "priority": 0,
        "apply-to": "all",
    }
    assert http_clear(SHOP, operator=True).path == "/api/operator-policies/my%20shop/-p%20q"
    assert (http_clear(TWO).method, http_clear(TWO).body) == ("DELETE", None)


@given(policies)
def test_names_round_trip_through_the_url_path(policy):
    parts = http_set(policy).path.split("/")
    assert [unquote(part) for part in parts[3:]] == [policy.vhost, policy.name]


def test_the_management_ui():
    definition = {"ha-mode": "nodes", "ha-params": ["a", "b"], "max-length": 5, "x": True}
    policy = Policy.of("p", "^q", definition, priority=2, vhost="shop")
    assert ui_set(policy) == [
        'Open Admin > Policies and unfold "Add / update a policy"',
        "Next to Virtual host choose shop",
        "Next to Name enter p",
        "Next to Pattern enter ^q",
        "Next to Apply to choose Queues",
        "Next to Priority enter 2",
        "Under Definition enter ha-mode, choose String, and enter nodes",
        "Under Definition enter ha-params, choose List, and enter its elements: a (String), b (String)",
        "Under Definition enter max-length, choose Number, and enter 5",
        "Under Definition enter x, choose Boolean, and enter true",
        'Press "Add / update policy"',
    ]
    assert ui_set(TWO, operator=True)[0].endswith('"Add / update an operator policy"')
    assert ui_clear(policy)[-1] == 'Press "Delete this policy"'
    assert ui_clear(policy, operator=True)[-1].startswith('Press "Clear" in the row of the operator policy p of')
