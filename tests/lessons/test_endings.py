"""Endings of the switches' settings, without a widget, and the widget without a browser."""

from __future__ import annotations

import pytest
import traitlets

from hawb.lessons import endings
from hawb.lessons.endings import BACKLOG, FAULT, LATE, START, SWITCHES, TYPE
from hawb.lessons.notebook import switches


def of(**setting: str) -> endings.Ending:
    """Return the ending under the defaults with these settings."""
    return endings.ending({key.replace("_", "-"): value for key, value in setting.items()})


@pytest.mark.parametrize(
    ("setting", "tone", "expected"),
    [
        ({}, "lost", ["7,200,000 messages lost"]),
        ({FAULT: "stop"}, "harmed", ["out of use for 5 min", "1,000 messages not confirmed"]),
        ({FAULT: "stop", "ha-promote-on-shutdown": "always"}, "lost", ["7,200,000 messages lost"]),
        ({"ha-promote-on-failure": "when-synced"}, "harmed", ["out of use for 5 min", "1,000 messages not confirmed"]),
        ({"ha-sync-mode": "automatic"}, "harmed", ["blocked for 12 min"]),
        ({TYPE: "quorum"}, "well", ["nothing is lost, and the queue was always in use"]),
    ],
)
def test_cost_of_a_setting(setting, tone, expected):
    found = endings.ending(setting)
    assert (found.tone, found.lines()) == (tone, expected)


def test_cell_shows_the_worst_effect():
    assert [of().brief(), of(ha_sync_mode="automatic").brief()] == ["7.2M lost", "12 min blocked"]
    assert of(ha_promote_on_failure="when-synced").brief() == "5 min out of use"


def test_ending_counts_late_messages_and_the_messages_of_each_node():
    assert of().confirmed_late == LATE
    assert of(ha_promote_on_failure="when-synced").confirmed_late == 0
    assert of(ha_sync_mode="automatic").held == (1.0, 1.0, 1.0)
    assert of().held == (1.0, LATE / BACKLOG, LATE / BACKLOG)


def test_ha_params_match_the_mode():
    made = {mode: endings.definition(START | {"ha-mode": mode, "ha-params": "2"}) for mode in SWITCHES["ha-mode"]}
    assert [made[mode].get("ha-params") for mode in made] == [None, 2, ["a", "b"]]


def test_key_without_effect_has_no_row():
    keys = [key for key, _value, _cells in endings.grid(START, list(SWITCHES))]
    assert "ha-params" not in keys and FAULT not in keys
    assert {key for key, _value, _cells in endings.grid(START | {TYPE: "quorum"}, list(SWITCHES))} == {TYPE}
    exactly = endings.grid(START | {"ha-mode": "exactly"}, ["ha-params"])
    assert [value for _key, value, _cells in exactly] == ["1", "2", "3"]
    assert [cell.setting[FAULT] for cell in exactly[0][2]] == list(SWITCHES[FAULT])


@pytest.mark.parametrize("setting", [{"ha-mode": "some"}, {"ha-color": "red"}, {"ha-mode": ["all"]}])
def test_unknown_setting_is_refused(setting):
    with pytest.raises(ValueError, match="cannot be switched to"):
        endings.ending(setting)


def test_differences_between_two_endings():
    assert endings.changed({}, {"ha-sync-mode": "automatic"}) == [
        "lost: 7,200,000 messages → no messages", "blocked: 0 s → 12 min"]  # fmt: skip
    assert endings.changed({}, {"ha-promote-on-shutdown": "always"}) == []


def test_flipped_switch_shows_the_former_story_beside():
    shown = switches("ha-sync-mode")
    assert [one["key"] for one in shown.switches] == ["ha-sync-mode", FAULT]
    assert shown.stories["was"] is None and shown.stories["now"]["tone"] == "lost"
    shown.setting = shown.setting | {"ha-sync-mode": "automatic"}
    was, now = shown.stories["was"], shown.stories["now"]
    assert (was["differs"], now["differs"]) == (["ha-sync-mode: manual"], ["ha-sync-mode: automatic"])
    assert (was["tone"], now["tone"]) == ("lost", "harmed")
    assert "end" in [one["kind"] for one in now["movements"]]
    assert now["after"]["rows"][0]["cells"]["b"]["was"]["count"] == "1000"
    assert [cell["is_now"] for row in shown.grid for cell in row["cells"]] == [False] * 4 + [True, False]


def test_story_is_sent_before_the_grid_is_played(monkeypatch):
    shown, done = switches("ha-promote-on-failure"), []
    monkeypatch.setattr(shown, "send_state", lambda key=None: done.append(key if isinstance(key, str) else {*key}))
    played = endings.grid
    monkeypatch.setattr(endings, "grid", lambda *given: done.append("played") or played(*given))
    shown.setting = START | {"ha-promote-on-failure": "when-synced"}
    sent = [{"stories"} <= one if isinstance(one, set) else one for one in done if one != "setting"]
    assert sent == [True, "played", "grid"]


def test_unknown_value_keeps_the_switches():
    shown = switches("ha-sync-mode")
    with pytest.raises(traitlets.TraitError, match="cannot be switched to"):
        shown.setting = shown.setting | {"ha-sync-mode": "never"}
    assert shown.setting == START
    with pytest.raises(ValueError, match="there is no switch 'ha-color'"):
        switches("ha-color")


def test_endings_have_text_and_picture_forms():
    bundle = switches("ha-sync-mode", ha_promote_on_failure="when-synced")._repr_mimebundle_()
    assert bundle["text/plain"].splitlines() == [
        "ha-sync-mode manual: stop: ◌ 5 min out of use | kill: ◌ 5 min out of use | power off: ◌ 5 min out of use",
        "ha-sync-mode automatic: stop: ◌ 12 min blocked | kill: ◌ 12 min blocked | power off: ◌ 12 min blocked",
    ]
    assert bundle["image/svg+xml"].startswith("<svg ")
