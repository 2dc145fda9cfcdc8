"""Templates of unknown messages contain RabbitMQ's own words only."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hawb.incident.templates import WORDS, template


@pytest.mark.parametrize(
    ("message", "left"),
    [
        ("Disk free limit set to 50 MiB (10110600806 bytes)", "Disk free limit set to <n> MiB (<n> bytes)"),
        ("started TCP listener on [::]:5672", "started TCP listener on [::]<name>"),
        ("closing <0.1.0> of 'till' and \"her\" <<\"bin\">>", "closing <pid> of <text> and <text> <text>"),
        ("Node rabbit@b.example is down, deleting its listeners", "Node <node> is down, deleting its listeners"),
        ("Running   boot step\nrecovery", "Running boot step recovery"),
        ("granted to Zoë 🐇", "granted to <word> <word>"),
    ],
)
def test_names_and_numbers_are_replaced(message, left):
    assert template(message) == left


SECRETS = st.text(st.characters(exclude_characters=string.punctuation + string.whitespace), min_size=3).filter(
    lambda name: any(map(str.isalpha, name)) and not any(word in name.lower() or name.lower() in word
                                                         for word in WORDS)
)
AROUND = st.sampled_from([
    "user {}", "'{}' failed", "({})", "{}:", "x={}", '<<"{}">>', "{}@host", "queue.{}.1", "[{}]", "{}-1", "-{}",
    "closing {}", '"{}', "{}'s", "\x1b[1m{}", "{{{}}}", "a/{}", "{},",
])  # fmt: skip


@given(SECRETS, AROUND, AROUND)
def test_no_chosen_name_is_in_a_template(name, one, other):
    assert name not in template(f"connection {one.format(name)} from {other.format(name)} closed")
