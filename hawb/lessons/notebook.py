"""Define the functions that a lesson's notebook calls. Their values, as the last line of a cell, are displayed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from html import escape

import msgspec

from hawb.cluster import Cluster
from hawb.languages import _
from hawb.lessons import (
    a_cluster_of_today,
    a_node_dies,
    all_nodes_down,
    answers,
    classic_and_quorum,
    confirms_and_flow,
    day_after,
    how_many_replicas,
    metadata_of_a_majority,
    mirrored_games,
    mirrored_queues,
    moving_masters,
    moving_to_quorum_queues,
    partitions,
    predictions,
    quorum_games,
    quorum_queues,
    rolling_upgrades,
    safe_stops,
    stop_or_kill,
    synchronising,
)
from hawb.lessons.answers import Answer
from hawb.lessons.exercises import Exercise, Verdict, judged
from hawb.lessons.games import Game, played
from hawb.lessons.predictions import Prediction
from hawb.lessons.rule_sources import rule
from hawb.lessons.switchboard import Switches
from hawb.lessons.view import (
    PredictionView,
    Text,
    cluster_view,
    exercise_view,
    game_view,
    log_view,
    panels_view,
    played_view,
    rule_view,
)
from hawb.views.display import PlainText, Sentences

LESSONS = (
    mirrored_queues,
    a_node_dies,
    synchronising,
    stop_or_kill,
    confirms_and_flow,
    all_nodes_down,
    moving_masters,
    quorum_queues,
    partitions,
    classic_and_quorum,
    moving_to_quorum_queues,
    safe_stops,
    rolling_upgrades,
    how_many_replicas,
    metadata_of_a_majority,
    a_cluster_of_today,
    day_after,
)
"""The modules with the lessons' exercises, in the order of the lessons."""

EXERCISES = {each.key: each for lesson in LESSONS for each in lesson.EXERCISES}
"""All exercises by their keys."""

GAMES = {each.key: each for each in (*mirrored_games.GAMES, *quorum_games.GAMES)}
"""The games, one at the end of each lesson, by their keys."""

LONGEST_KEPT = 4000
"""Maximum length, in characters, of a stored answer that JSON cannot hold."""


def predict(
    question: str,
    choices: Sequence[str] | type[int],
    key: str,
    truth: str | int | None = None,
    *shown: object,
    before: Cluster | None = None,
    after: Cluster | None = None,
) -> PredictionView:
    """Ask for a guess: one of `choices`, or a number if `choices` is int.

    After the guess, show the `truth`, which is the result of the run, and the explanation `shown`. It consists of texts
    (a tuple is a line, a list is several lines), tables, and results of `look` or `tell`. If no truth is given, a later
    cell must call `truth`.

    Draw the cluster as it was `before`; the reader can click on a node as the guess. Then play the story to the cluster
    `after`. Raise ValueError for a truth that is not one of the choices, and AnswersRefused.
    """
    return PredictionView(Prediction(question, choices, key, truth), shown, before, after)


def switches(*keys: str, **start: str) -> Switches:
    """Return a widget with switches for these keys of `hawb.lessons.endings.SWITCHES` and for the fault of a.

    Without keys it has all switches. The story plays again whenever the reader flips one. Raise ValueError for an
    unknown key.
    """
    return Switches(*keys, start={key.replace("_", "-"): value for key, value in start.items()})


def truth(key: str, value: str | int) -> PlainText:
    """Show the result of a run beside the reader's earlier guess. Raise AnswersRefused."""
    return PlainText(predictions.truth(key, value))


def tell(text: str, last: int | None = None) -> Sentences:
    """Show a text in lines that fit the page; with `last`, only its last lines."""
    return Sentences("\n".join(text.splitlines()[-last:]) if last else text)


def look(cluster: Cluster) -> Text:
    """Show the cluster as diagram and tables."""
    return cluster_view(cluster)


def beside(clusters: Mapping[str, Cluster]) -> Text:
    """Show clusters side by side, each under its caption: before and after, or two variants of a story."""
    return panels_view(clusters)


def logs(cluster: Cluster, queue: str, *times_s: float) -> Text:
    """Show the Raft logs of a quorum queue's members at these times in seconds, or now. Raise ValueError."""
    return log_view(cluster, queue, times_s)


def show_rule(name: str | Callable) -> Text:
    """Show a rule's code, its source, its scenarios, and what real brokers did. Raise ValueError."""
    return rule_view(rule(name))


def exercise(key: str) -> Text:
    """Show an exercise and its hints. Raise ValueError for an unknown key."""
    return exercise_view(exercise_of(key))


def check(key: str, answer: object) -> Verdict | PlainText:
    """Play an answer, store it, and return the verdict. Raise ValueError for an unknown key, AnswersRefused.

    A page without code (Voilà) has no place for an answer. There, return where the exercise can be answered.
    """
    if answer is ... and _on_a_page():
        return PlainText(_in_jupyterlab())
    return _kept(key, answer, judged(exercise_of(key), answer))


def game(key: str) -> Text:
    """Show a game's beginning: the cluster, what will happen, the rules. Raise ValueError for an unknown key."""
    return game_view(game_of(key))


def play(key: str, moves: object) -> Text:
    """Play a game's moves, store them, and show the result.

    A page without code (Voilà) has no place for moves. There, show where the game can be played.
    Raise ValueError for an unknown key, AnswersRefused.
    """
    if moves is ... and _on_a_page():
        return Text(_in_jupyterlab(), f"<p>{escape(_in_jupyterlab())}</p>")
    result = played(game_of(key), moves)
    _kept(key, moves, result.verdict)
    return played_view(game_of(key), result)


def _on_a_page() -> bool:
    """Return True if the notebook is shown by Voilà, which says so to its kernels."""
    return os.environ.get("SERVER_SOFTWARE", "").startswith("voila/")


def _in_jupyterlab() -> str:
    return _("You answer this exercise in code: open the lesson in JupyterLab.")


def _kept(key: str, answer: object, verdict: Verdict) -> Verdict:
    with answers.changed() as kept:
        attempts = kept.answers.get(key, Answer()).attempts
        kept.answers[key] = Answer(plain(answer), verdict.right, verdict.says, attempts + 1)
    return verdict


def reset_lesson(lesson: int | str) -> PlainText:
    """Delete the guesses and answers of a lesson, given by its number. Raise AnswersRefused."""
    answers.reset(str(lesson))
    return PlainText(_("Lesson {lesson} begins anew: run its cells from the top.", lesson=lesson))


def exercise_of(key: str) -> Exercise:
    """Return the exercise of a key. Raise ValueError for an unknown key."""
    if key not in EXERCISES:
        raise ValueError(f"there is no exercise {key!r}; there are {', '.join(EXERCISES)}")
    return EXERCISES[key]


def game_of(key: str) -> Game:
    """Return the game of a key. Raise ValueError for an unknown key."""
    if key not in GAMES:
        raise ValueError(f"there is no game {key!r}; there are {', '.join(GAMES)}")
    return GAMES[key]


def plain(answer: object) -> object:
    """Return an answer as JSON can hold it: plain values unchanged, any other value as its truncated repr."""
    try:
        return msgspec.json.decode(msgspec.json.encode(answer))
    except (TypeError, ValueError, msgspec.MsgspecError, RecursionError, OverflowError):
        return repr(answer)[:LONGEST_KEPT]
