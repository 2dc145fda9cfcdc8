"""Judge games of a few moves: keep all confirmed messages through a known fault, or find a fault that loses them.

A game is an exercise whose answer is a limited list of steps, its moves; waiting is not a move. Par is the smallest
number of moves that wins. A game is also played in clusters that the reader has not seen, so that luck does not win.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from hawb.cluster import Cluster
from hawb.languages import LESSONS, _, ngettext, translated
from hawb.lessons.exercises import (
    AS_SHOWN,
    AnswerRefused,
    Exercise,
    Form,
    Variation,
    Verdict,
    given_as,
    judged,
    led_to,
    queue_of,
)
from hawb.scenario.refused import ScenarioRefused
from hawb.views.formatting import counted, paragraph, shown

FREE = "wait"
"""The step that does not count as a move."""

Fate = Callable[[Cluster, Variation], object]


class Game(Exercise, frozen=True, kw_only=True):
    """A game with its `title`: `most` moves, of which `par` are enough.

    `fate` says what happens after the moves, if anything.
    """

    form: Form = Form.STEPS
    title: str
    most: int
    par: int
    fate: str = ""

    @property
    def rules(self) -> str:
        """Return the rules: which moves, and how many."""
        verbs = ", ".join(self.verbs)
        return ngettext(
            "{most} move at most, par {par}. Moves: {verbs}.", "{most} moves at most, par {par}. Moves: {verbs}.",
            self.most, most=self.most, par=self.par,
            verbs=_("{verbs} (waiting is free)", verbs=verbs) if FREE in self.verbs else verbs,
        )  # fmt: skip


class Played(NamedTuple):
    """A game that was played: the verdict, and the cluster before and after.

    `after` is None if the moves could not be played.
    """

    verdict: Verdict
    before: Cluster
    after: Cluster | None


def played(game: Game, moves: object) -> Played:
    """Play moves in the cluster of the question and in those held back, and return the verdict."""
    before = game.begin(AS_SHOWN)
    try:
        steps = given_as(game, moves)
        after = led_to(game, steps, AS_SHOWN)
    except (AnswerRefused, ScenarioRefused):
        return Played(judged(game, moves), before, None)
    if (count := sum(FREE not in step for step in steps)) > game.most:
        too_many = _("These are {number} moves; the game has {most}.", number=count, most=game.most)
        return Played(Verdict(False, too_many), before, None)
    with suppress(AnswerRefused):
        game.judge(after, AS_SHOWN)  # continues the story with the fate
    verdict = judged(game, steps)
    if verdict.right:
        verdict = Verdict(True, paragraph([won_in(count, game.par), verdict.says]))
    return Played(verdict, before, after)


def won_in(count: int, par: int) -> str:
    """Return in how many moves a game was won, compared with its par, in words."""
    if count == par:
        return ngettext("Won in {number} move (par).", "Won in {number} moves (par).", count, number=count)
    return ngettext("Won in {number} move (par is {par}).", "Won in {number} moves (par is {par}).", count,
                    number=count, par=par)  # fmt: skip


def told_of(game: Game, result: Played) -> list[str]:
    """Return comments on a game that was won: what its fate did, or why the messages were lost."""
    if result.after is None or not result.verdict.right:
        return []
    lost = what_is_lost(result.after)
    if lost:
        return [_("Lost, as requested: {lost}", lost=lost)]
    fate = translated(game.fate, LESSONS)
    return [_("Then {fate}: nothing that was confirmed is lost.", fate=fate)] if fate else []


# Judges


def keeps(fate: Fate, *queues: str) -> Callable[[Cluster, Variation], str | None]:
    """Return a judge that requires that no message is lost.

    After the fate, each of the queues runs, and together they hold all messages.
    """

    def judge(cluster: Cluster, variation: Variation) -> str | None:
        fate(cluster, variation)
        if reason := what_is_lost(cluster):
            return _("Lost: {lost}", lost=reason)
        if reason := next(filter(None, (unusable(cluster, name) for name in queues)), None):
            return reason
        if (there := sum(cluster.queues[name]["messages"] for name in queues)) < variation.messages:
            return _("Only {number} of {messages} are left: one of these moves removes the other messages.",
                     messages=counted(variation.messages), number=f"{there:,}")  # fmt: skip
        return None

    return judge


def serves(name: str) -> Callable[[Cluster, Variation], str | None]:
    """Return a judge that requires that the queue runs after 30 s, and has all messages when all nodes are back."""
    everything = keeps(lambda cluster, variation: cluster.start(*variation.nodes).wait(60), name)
    return lambda cluster, variation: unusable(cluster.wait(30), name) or everything(cluster, variation)


def unusable(cluster: Cluster, name: str) -> str | None:
    """Return why a queue is not available, or None. Raise AnswerRefused if it was deleted."""
    state = queue_of(cluster, name)["state"]
    if state == "running":
        return None
    if state == "minority":
        return _("Nothing is lost, but no client can use {queue}: it has no majority.", queue=shown(name))
    return _("Nothing is lost, but no client can use {queue}: it is {state}.", queue=shown(name), state=state)


def loses(fair: Callable[[Cluster, Variation], str | None] = lambda *_: None) -> Callable[..., str | None]:
    """Return a judge that requires a lost confirmed message.

    `fair` returns the rule that the moves break, or None.
    """

    def judge(cluster: Cluster, variation: Variation) -> str | None:
        if unfair := fair(cluster, variation):
            return unfair
        if what_is_lost(cluster):
            return None
        down = [name for name, queue in cluster.queues.items() if queue["state"] != "running"]
        lines = [_("Nothing that was confirmed is lost.")]
        lines += [_("{queue} cannot be used now, but its messages are not lost.", queue=shown(name))
                  for name in down[:1]]  # fmt: skip
        return paragraph(lines)

    return judge


def what_is_lost(cluster: Cluster) -> str:
    """Return the lost confirmed messages, and why the first of them was lost; "" if none was."""
    for name, account in cluster.ledger.items():
        if lost := account["lost_confirmed"]:
            gone = account["lost"] or account["refused"]
            text = _("{messages} of {queue} that had been confirmed.", messages=counted(lost), queue=shown(name))
            return paragraph([text, cluster.why(name, gone[0][0])])
    return ""

