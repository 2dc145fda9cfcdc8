"""Show a prediction as a widget.

The reader answers with a click on a node, a choice or a number; then the story plays in the picture, and the
explanation appears.
"""

from __future__ import annotations

from pathlib import Path

import anywidget
import traitlets

from hawb import languages
from hawb.cluster import Cluster
from hawb.engine.core import runs
from hawb.lab.leads import chains_of, kept, offered
from hawb.lab.stage import LOOK, front_end
from hawb.languages import _
from hawb.lessons.answers import AnswersRefused
from hawb.lessons.predictions import Prediction, reply
from hawb.planning.alternatives import what_would_have_kept
from hawb.planning.harm import harms
from hawb.views.cluster import elections, raft_entries
from hawb.views.cluster.scene import beyond, scene
from hawb.views.story.movements import movements

OWN = Path(__file__).parent / "front"
DRAWN = ("elements", "chain", "picture", "network", "flights", "player")
"""The modules of the stage that draw a cluster and play a step."""

LESSON = LOOK + (OWN / "lesson.css").read_text(encoding="utf-8")


class LessonWidget(anywidget.AnyWidget):
    """A widget of a lesson, in the language that is in force when it is made."""

    _css = LESSON
    tag = traitlets.Unicode().tag(sync=True)
    words = traitlets.Dict().tag(sync=True)

    def __init__(self, **given: object):
        name = languages.in_force()
        words = languages.catalogue(name, languages.FRONT).texts
        super().__init__(tag=languages.LANGUAGES[name].tag, words=words, **given)


class Question(LessonWidget):
    """A question above a picture of the cluster. Set `guess`, as a click does, to answer it.

    `guess` is the reader's guess, or None; `over` is True once the result was shown, with or without a guess; `later`
    is True if the run is still to come. `reply` is the reply to a guess, or why it is invalid. `picture` has the scene
    `before` the run and, once it is over, the scene `after` it, the `movements` between them and the `chain` of causes.
    Once `asks` is set, as a click does, `tries` has the changes that would have kept the messages that were lost
    (`changes_to_try`); before that, it is None. All traits can be observed and linked.
    """

    _esm = front_end(DRAWN, OWN / "question.js")
    question = traitlets.Unicode().tag(sync=True)
    choices = traitlets.List().tag(sync=True)
    guess = traitlets.Any(None).tag(sync=True, echo_update=False)
    over = traitlets.Bool(False).tag(sync=True, echo_update=False)
    later = traitlets.Bool(False).tag(sync=True)
    reply = traitlets.Unicode().tag(sync=True)
    picture = traitlets.Dict().tag(sync=True)
    asks = traitlets.Bool(False).tag(sync=True, echo_update=False)
    tries = traitlets.Any(None).tag(sync=True)

    def __init__(self, prediction: Prediction, before: Cluster | None = None, after: Cluster | None = None):
        self.prediction, self._played, self._moments = prediction, played(before, after), (before, after)
        self._taken: str | int | None = None
        super().__init__(
            question=prediction.question,
            choices=[] if prediction.choices is int else list(prediction.choices),
            later=prediction.truth is None,
            picture={"before": self._played["before"]} if before else {},
        )
        self.observe(languages.kept(lambda _change: self._take()), "guess")
        self.observe(languages.kept(lambda _change: self._tell()), "over")
        self.observe(languages.kept(lambda _change: self._offer()), "asks")
        self.guess = prediction.guess

    def _take(self) -> None:
        """Store the first valid guess; refuse any other.

        The page gets the reply and the picture in one message, since each message costs it milliseconds.
        """
        if self.guess in (None, self._taken):
            return
        with self.hold_sync():
            try:
                self.reply = self.prediction.take(self.guess)
            except (ValueError, AnswersRefused) as refused:
                self.reply, self.guess, self._taken = str(refused), None, None
                return
            self._taken = self.guess = self.prediction.guess
            self._end()
        self.over = not self.later

    def _tell(self) -> None:
        """Show the result of the run."""
        if self.over:
            with self.hold_sync():
                self._end()

    def _end(self) -> None:
        """Show the result of the run, unless it is still to come."""
        if not self.later:
            self.reply = reply(self.guess, self.prediction.truth)
            self.picture = self._played

    def _offer(self) -> None:
        """Find what the reader can try."""
        before, after = self._moments
        if self.asks and self.over and before and after and self._played["lost"]:
            self.tries = changes_to_try(before, after)

    def __repr__(self) -> str:
        asked = _("Predict: {question} [{accepted}]", question=self.question, accepted=self.prediction.accepted)
        return f"{asked}\n{self.reply}" if self.reply else asked


def played(before: Cluster | None, after: Cluster | None) -> dict:
    """Return the scenes of two moments, the movements between them, and the `chain` of causes of what happened.

    `lost` is True if messages were lost between them. There are no movements and no chain unless the second moment
    continues the story of the first. A missing cluster's scene is None.
    """
    was, now = before and before.outcome, after and after.outcome
    goes_on = was is not None and now is not None and now["events"][: len(was["events"])] == was["events"]
    return {
        "before": before and scene_of(before),
        "after": after and scene_of(after, was if goes_on else None),
        "movements": movements(now, was, _cuts(before, after), _ballots(before, after)) if goes_on else [],
        "chain": next(iter(chains_of(now)), []) if goes_on else [],
        "lost": goes_on and len(now["losses"]) > len(was["losses"]),
    }


def changes_to_try(before: Cluster, after: Cluster) -> list[dict]:
    """Return single changes of the story that keep messages which were lost after the moment `before`, best first.

    Each has what it changes, what it keeps and its price in words, and the `scene` at the end of the changed story, in
    which differences from `after` are marked. The list is empty if nothing was lost after `before`.
    """
    lost = [harm for harm in harms(after.run) if harm.lost and harm.t_s >= before.outcome["time_s"]]
    if not lost:
        return []
    found = what_would_have_kept(after.run, max(lost, key=lambda harm: runs.size(harm.lost)))
    ends = [Cluster.of(one.run.scenario) for one in offered(found) if one.run is not None]
    return [words | {"scene": scene_of(end, after.outcome)} for words, end in zip(kept(found), ends, strict=True)]


def scene_of(cluster: Cluster, was: dict | None = None) -> dict:
    """Return the scene of a cluster; changes are marked against the outcome `was`."""
    return scene(cluster.outcome, was, beyond(cluster.run.moment().state, cluster.run.settings.names))


def _cuts(before: Cluster, after: Cluster) -> list[dict]:
    states = before.run.moment().state, after.run.moment().state
    return raft_entries.cut_off(*states, after.run.settings.names)


def _ballots(before: Cluster, after: Cluster) -> list[dict]:
    return elections.flown(after.run.moment(), before.run.moment(), after.run.settings.names)
