"""Playing, beat by beat."""

from __future__ import annotations

import asyncio

import pytest

from hawb.lab import player
from hawb.lab.controller import Controller
from hawb.lab.player import Player

WAITING = [("kill", "a"), ("kill", "b"), ("start", "a")]
"""After these the cluster waits for another node for a while."""


@pytest.fixture
def drawn() -> list[str]:
    return []


@pytest.fixture
def playing(drawn: list[str]) -> Player:
    return Player(Controller(), lambda: drawn.append("changed"))


def wait_for_a_node(controller: Controller) -> None:
    for verb, node in WAITING:
        controller.act(verb, node)
    assert controller.has_timers


def test_a_beat_plays_the_step_ahead_and_at_the_end_there_is_nothing_to_play(playing, drawn):
    for _ in range(3):
        playing.controller.step_back()
    playing.resume()
    played, steps = playing.controller.story_place
    beats = 0
    while playing.tick():
        beats += 1
    assert (beats, playing.controller.story_place) == (steps - played, (steps, steps))
    assert len(drawn) == beats
    assert not playing.can_play


def test_a_beat_lets_time_pass_at_the_speed_chosen_while_anything_is_due(playing):
    controller = playing.controller
    wait_for_a_node(controller)
    since, playing.speed = controller.outcome["time_s"], 100
    playing.resume()
    assert playing.tick()
    assert controller.outcome["time_s"] == pytest.approx(since + 100 * player.BEAT_S)
    while playing.tick():
        pass
    assert controller.outcome["nodes"]["a"] == "down"
    assert [step.name for step in controller.now.run.steps[-2:]] == ["start", "wait"]


def test_a_person_who_does_something_else_ends_playing(playing):
    wait_for_a_node(playing.controller)
    playing.resume()
    assert playing.tick()
    playing.controller.act("publish", {"queue": "ha.orders", "count": 1})
    assert not playing.tick()


def test_playing_is_a_task_that_ends_by_itself_or_is_cancelled(playing, drawn, monkeypatch):
    async def session() -> None:
        wait_for_a_node(playing.controller)
        monkeypatch.setattr(player, "BEAT_S", 1000)
        playing.start()
        assert playing.is_playing
        await asyncio.sleep(0)
        playing.stop()
        with pytest.raises(asyncio.CancelledError):
            await playing.task
        assert not playing.is_playing
        monkeypatch.setattr(player, "BEAT_S", 0)
        for _ in range(2):
            playing.controller.step_back()
        playing.start()
        await playing.task

    asyncio.run(session())
    assert not playing.is_playing
    assert playing.controller.next_step == ""
    assert drawn
