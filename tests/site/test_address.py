"""Addresses (URL fragments) of lab states: round trip, and refusal of invalid ones."""

from __future__ import annotations

import zlib
from base64 import urlsafe_b64encode

import pytest
from browser_pages import ROOT

from hawb.lab.controller import Controller
from hawb.lab.history import Point
from hawb.lab.leads import offered, worst
from hawb.lab.sources import START, TITLE
from hawb.scenario.load import ScenarioRefused, load
from hawb.scenario.verbs import VERBS
from hawb.site.address import ABOUT, MOST_BYTES, MOST_CHARACTERS, MOST_FIELDS, address, point_at

NAMES = ("unsynchronised-mirror-promoted", "quorum-leader-killed", "partition-pause-minority")
FILES = {name: ROOT / "data" / "scenarios" / f"{name}.yaml" for name in NAMES}
STORIES = {TITLE: START} | {load(file).scenario: file for file in FILES.values()}


def there_and_back(controller: Controller) -> tuple[str, Point]:
    """Return the address of where a lab stands, and the point to which it leads, having compared the two."""
    text = address(controller.now, STORIES)
    point = point_at(text, STORIES)
    assert (point.outcome, point.document, len(point.ahead)) == (
        controller.outcome, controller.now.document, len(controller.now.ahead),
    )  # fmt: skip
    assert (point.rest, point.position) == (controller.now.rest, controller.now.position)
    assert address(point, STORIES) == text
    return text, point


def test_initial_cluster_has_no_address():
    assert there_and_back(Controller())[0] == ""


def test_address_contains_steps_that_can_be_undone():
    controller = Controller()
    controller.act("kill", "a")
    controller.act("start", "a")
    text, point = there_and_back(controller)
    assert text == "kill=a&start=a"
    assert point.before.outcome["nodes"]["a"] == "down" and point.before.before.before is None


@pytest.mark.parametrize(
    ("verb", "argument"),
    [
        ("publish", {"queue": "ha.orders", "count": 3}),
        ("partition", [["a"], ["b", "c"]]),
        ("declare", {"queue": 'ä&=#%+ "\\\' <img>\U0001f600', "node": "b"}),
        ("purge", "true"),
        ("purge", "12"),
        ("purge", "- a"),
        ("wait", 2.5),
        ("set_policy", {"name": "x", "pattern": "^(?!a)", "definition": {"ha-mode": "exactly", "ha-params": 2}}),
    ],
)
def test_arguments_round_trip(verb: str, argument: object):
    controller = Controller()
    controller.act(verb, argument)
    text, _point = there_and_back(controller)
    assert controller.messages == {} or "refused" in str(controller.messages)
    assert text.isascii() and not set(text) & set("<>\"'\\ #")


def test_timed_steps_step_back_and_moments_round_trip():
    controller = Controller()
    controller.at = "60"
    controller.act("kill", "a")
    controller.act("start", "a")
    assert there_and_back(controller)[0] == "kill@60=a&start=a"
    controller.step_back()
    assert there_and_back(controller)[0] == "kill@60=a&start=a&ahead=1"
    controller.look_at(1)
    assert there_and_back(controller)[0] == "kill@60=a&start=a&ahead=1&moment=1"


@pytest.mark.parametrize("name", NAMES)
def test_each_step_of_a_story_round_trips(name: str):
    controller = Controller(FILES[name])
    assert there_and_back(controller)[0] == f"story={name}"
    for ahead in range(1, 1 + controller.story_place[1]):
        controller.step_back()
        assert there_and_back(controller)[0] == f"story={name}&ahead={ahead}"


def test_changed_story_is_stored_completely():
    controller = Controller()
    controller.act("kill", "a")
    controller.ask_alternatives(worst(controller))
    (policy,) = [one for one in offered(controller.now.alternatives) if "ha-sync-mode" in one.change.what]
    controller.try_alternative(policy)
    text, _point = there_and_back(controller)
    assert text.startswith("scenario=") and text.endswith("&rest=11") and len(text) < 1000
    controller.set_profile("3.8")
    there_and_back(controller)


def test_too_long_state_has_no_address():
    controller = Controller()
    controller.act("declare", {"queue": "q" * 200, "node": "a"})
    for _ in range(MOST_CHARACTERS // 200):
        controller.act("publish", {"queue": "q" * 200, "count": 1})
    assert address(controller.now, STORIES) == ""


BOMB = urlsafe_b64encode(zlib.compress(b" " * (MOST_BYTES + 1))).decode()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kill", "not an address"),
        ("&&", "not an address"),
        ("kill=%ff", "not an address"),
        ("fly=a", "unknown verb"),
        ("kill=x", "not a node of this cluster"),
        ("kill@x=a", "seconds"),
        ("publish={", "not YAML"),
        ("wait=" + "[" * 100, "too deep"),
        ("story=../../etc/passwd", "no such story"),
        ("story=" + START.stem + "&ahead=1", "not so many steps"),
        ("ahead=-1", "not a whole number"),
        ("moment=" + "9" * 30, "not a whole number"),
        ("scenario=_", "cannot be read"),
        ("scenario=é", "cannot be read"),
        (f"scenario={BOMB}", "too large"),
        (f"scenario={urlsafe_b64encode(zlib.compress(b'[]')).decode()}", "not a scenario"),
        (f"scenario={urlsafe_b64encode(zlib.compress(b'steps: 1')).decode()}", "steps are not a list"),
        (f"scenario={urlsafe_b64encode(zlib.compress(b'steps: []')).decode()}", "scenario is missing"),
        ("&".join(["start=a"] * (MOST_FIELDS + 1)), "not an address"),
        ("kill=" + "a" * MOST_CHARACTERS, "too long"),
    ],
)
def test_invalid_address_is_refused_with_a_reason(text: str, said: str):
    with pytest.raises(ScenarioRefused, match=said):
        point_at(text, STORIES)


def test_verbs_and_other_fields_have_distinct_names():
    assert not VERBS.keys() & set(ABOUT)
