"""The tables of consumers and publishers."""

from __future__ import annotations

import re
from html import unescape

import pytest
from views_outcomes import HOSTILE, steps

from hawb.views.cluster import clients
from hawb.views.formatting import shown

DECLARED = ({"declare": {"queue": "q", "node": "a"}}, {"publish": {"queue": "q", "count": 7}})
CONSUMING = (*DECLARED, {"consume": {"consumer": "c1", "queue": "q", "prefetch": 5}})
PUBLISHING = (*DECLARED, {"publisher": {"name": "p1", "queue": "q", "rate": 100}}, {"wait": 12})


def text(table: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", table)).split())


def test_consumer_row_shows_changed_values_before_and_after():
    was, now = steps(*CONSUMING), steps(*CONSUMING, {"ack": {"consumer": "c1", "count": 3}})
    assert "c1 q active up 5 5" in text(clients.html(was))
    assert "5 → 7" in text(clients.html(now, was))
    assert clients.html(now).count("→") == 0


def test_new_consumer_is_marked_without_former_values():
    html = clients.html(steps(*CONSUMING), steps(*DECLARED))
    assert "→" not in html
    assert "outline:1px dashed" in html


def test_publisher_has_a_row():
    assert re.search(r"p1 running 1,20\d 1,[12]\d\d 0.0$", text(clients.html(steps(*PUBLISHING))))


def test_empty_table_states_that_there_are_no_clients():
    assert text(clients.html(steps())) == "No consumer, and no steady publisher."


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_escaped(name):
    publisher = {"publisher": {"name": f"{name} too", "queue": "q", "rate": 1}}
    html = clients.html(steps(*DECLARED, {"consume": {"consumer": name, "queue": "q"}}, publisher))
    assert "<script" not in html
    assert html.count("</tr>") == 4
    assert f" {shown(name)} q active " in text(html) and f" {shown(f'{name} too')} running " in text(html)
