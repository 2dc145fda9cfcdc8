"""Show the story: cause and effect in sentences, newest last, with "why?" at each loss and for any message."""

from __future__ import annotations

import re
from html import escape

import ipywidgets as widgets

from hawb.lab import fields
from hawb.lab.controller import Controller, Place
from hawb.lab.fields import Message
from hawb.languages import N_, _, ngettext
from hawb.views.formatting import counted, seconds, size, whole
from hawb.views.story.chain import MARKS
from hawb.views.story.chronicle import Chronicle
from hawb.views.story.drafts import Drafts
from hawb.views.story.telling import Sentence, sentences
from hawb.views.story.why import why_lost

LATEST = 100
"""Maximum number of sentences shown: the latest ones up to the current moment."""

ADDRESS = re.compile(r"https://[\w./+-]*[\w/+]")

EARLIER = N_("To see earlier events, move the slider to an earlier moment.")


class StoryPanel:
    """The sentences, the broker's log on demand, and a field that asks what became of a message."""

    def __init__(self, controller: Controller):
        self.controller = controller
        self.log = widgets.Checkbox(
            description=_("broker log"), tooltip=_("the lines that the broker logs"), indent=False
        )
        fields.watch(self.log, lambda _: self._show_story())
        self.notes = fields.named(widgets.HTML(), "hawb-notes")
        self.story = fields.named(widgets.HTML(), "hawb-story")
        self.message = Message(Place.WHY)
        self.question = fields.text(_("why?"), _("what happened to a message, and why: QUEUE/NUMBER"))
        self.question.placeholder = _("queue/number, such as ha.orders/1")
        self._answer, self._drafts = "", Drafts()
        fields.watch(self.question, lambda _: self._ask())
        question = fields.named(self.message.beside(self.question), "hawb-question")
        self.box = fields.column(self.log, self.notes, self.story, question, name="hawb-story-panel")

    def show(self) -> None:
        """Update the widgets from the controller, and clear the earlier question."""
        self.question.value = self._answer = ""
        self.message.show(self.controller)
        self.notes.value = notes_html(self.controller.now.notes)
        self._show_story()

    def _show_story(self) -> None:
        story = story_html(self.controller.outcome, self.log.value, self._drafts)
        question, answer = escape(self.question.value), escape(self._answer)
        asked = f"<p><b>{question}</b> {answer}</p>" if answer else ""
        self.story.value = f"<div>{story}{asked}</div>"

    def _ask(self) -> None:
        if self.question.value:
            self._answer = self.controller.why(self.question.value)
            self._show_story()
            self.message.show(self.controller)


def story_html(outcome: dict, log: bool = False, drafts: Drafts | None = None) -> str:
    """Return the story as an HTML list, with the consequences of the last step marked.

    `drafts` caches sentences between calls.
    """
    losses, chronicle = {loss["event"]: loss for loss in outcome["losses"]}, Chronicle(outcome)
    found = sentences(outcome, LATEST, drafts)
    last = max((one.step for one in found if one.step is not None), default=None)
    items = (sentence_html(one, one.step == last, log, why_html(chronicle, losses.get(one.index))) for one in found)
    earlier = f"<p>{_(EARLIER)}</p>" if len(found) == LATEST else ""
    return f"{earlier}<ol>{''.join(items)}</ol>"


def sentence_html(one: Sentence, new: bool, log: bool, why: str) -> str:
    """Return a sentence as HTML, with its time, its mark, the broker's log line and why."""
    look = MARKS.get(one.tone)
    mark = "" if look is None else f'<i aria-hidden="true" style="color:{look.colour}">{look.glyph}</i>'
    lines = f"<pre>{escape(one.log_line)}</pre>" if log and one.log_line else ""
    time = f"<time{' class=hawb-new' if new else ''}>{seconds(one.t)}</time>"
    return f"<li>{time}<span>{mark}</span><div>{escape(one.text)}{lines}{why}</div></li>"


def why_html(chronicle: Chronicle, loss: dict | None) -> str:
    """Return the causes of a loss as HTML, folded; "" without a loss."""
    if loss is None:
        return ""
    causes = "".join(f"<p>{escape(cause)}</p>" for cause in why_lost(chronicle, loss))
    panel = _("What if")
    also = _("What would have kept the messages? The {panel} panel tries each change.", panel=f"<em>{panel}</em>")
    summary = _("{messages} lost: why?", messages=counted(size(loss["ids"])))
    return f"<details><summary>{summary}</summary>{causes}<p>{also}</p></details>"


def notes_html(notes: tuple[str, ...]) -> str:
    """Return the notes on the opened cluster as HTML, with web addresses as links; "" without notes."""
    if not notes:
        return ""
    items = "".join(f"<li>{linked(note)}</li>" for note in notes)
    summary = ngettext(
        "{count} note on this cluster", "{count} notes on this cluster", len(notes), count=whole(len(notes))
    )
    return f"<details><summary>{summary}</summary><ul>{items}</ul></details>"


def linked(text: str) -> str:
    """Return a text as HTML, with its web addresses as links."""
    return ADDRESS.sub(r'<a href="\g<0>" target="_blank" rel="noopener noreferrer">\g<0></a>', escape(text))
