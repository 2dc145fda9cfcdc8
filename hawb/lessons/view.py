"""Build the widgets of a lesson; their texts come from the modules beside this one.

A widget's text form contains what is the same for all readers, so that a stored notebook can be read without running
it, and compared in tests.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape

import ipywidgets as widgets

from hawb.cluster import Cluster
from hawb.lab import fields
from hawb.languages import ENGLISH, LESSONS, _, in_force, translated
from hawb.lessons import step_forms
from hawb.lessons.exercises import AS_SHOWN, Exercise
from hawb.lessons.games import Game, Played, told_of
from hawb.lessons.predictions import Prediction, reply
from hawb.lessons.question import Question
from hawb.lessons.rule_sources import Rule
from hawb.views.cluster import raft
from hawb.views.display import Sentences, fitted
from hawb.views.story import pictures

STYLE = (
    "<style>.hawb-lesson summary {cursor: pointer} .hawb-lesson p {margin: 4px 0; line-height: 1.4} "
    ".hawb-lesson p.hawb-moment {margin-top: 12px} .hawb-lesson .hawb-said {white-space: pre-wrap} "
    ".hawb-lesson pre.hawb-said {margin: 4px 0; font: 1em/1.4 ui-monospace, monospace; word-break: normal; "
    "overflow-wrap: anywhere}</style>"
)
TRUTH = "text/vnd.hawb.truth"


class PredictionView(fields.Readable, widgets.VBox):
    """A question with its picture and, once a guess is made, the explanation of the answer."""

    def __init__(self, prediction: Prediction, shown: Sequence[object], before: Cluster | None, after: Cluster | None):
        self._told = [] if prediction.truth is None else [reply(None, prediction.truth), *map(text_of, shown)]
        self._explained = "".join(map(html_of, shown))
        self.picture = before._repr_svg_() if before else ""
        self.asked = Question(prediction, before, after)
        self.explanation = widgets.VBox()
        super().__init__([self.asked, self.explanation])
        self.asked.observe(lambda _change: self._explain(), "over")
        self._explain()

    def _explain(self) -> None:
        if self.asked.over and self._explained:
            self.explanation.children = [html(self._explained, self.explanation.layout)]

    def __repr__(self) -> str:
        return "\n".join([repr(self.asked), *(self._told[1:] if self.asked.over else [])])

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, str]:
        """Add the answer, as a type that no front end shows, so that a stored notebook can be compared with it."""
        data = {TRUTH: "\n".join(self._told)} if self._told else {}
        return super()._repr_mimebundle_(**kwargs) | data


def text_of(shown: object) -> str:
    """Return an object of a prediction's explanation as text; a tuple is a line, and a list its lines."""
    if isinstance(shown, list):
        return "\n".join(map(text_of, shown))
    if type(shown) is tuple:  # a table is a tuple of another type
        return " ".join(map(str, shown))
    return repr(Sentences(shown)) if isinstance(shown, str) else repr(shown)


def html_of(shown: object) -> str:
    """Return an object of a prediction's explanation as HTML.

    A text is a paragraph. Any other object without HTML of its own is in a fixed-width font, since its lines may be
    indented (a story is YAML) or aligned in columns.
    """
    if isinstance(shown, Text):
        return shown.value
    for form in ("_repr_html_", "_repr_svg_"):
        if hasattr(shown, form):
            return getattr(shown, form)()
    if isinstance(shown, str):
        return f'<p class="hawb-said">{escape(str(shown))}</p>'
    return f'<pre class="hawb-said">{escape(text_of(shown))}</pre>'


class Text(fields.Readable, widgets.HTML):
    """HTML with a text form and, for pages that cannot show widgets, a picture: an SVG element."""

    def __init__(self, text: str, page: str, picture: str = ""):
        self._text, self.picture = text, picture
        super().__init__(f'{STYLE}<div class="hawb-lesson">{page}</div>')

    def still(self) -> str:
        """Return all of the HTML: it contains nothing that moves."""
        return self.value

    def __repr__(self) -> str:
        return self._text


def html(page: str, layout: widgets.Layout) -> widgets.HTML:
    """Return HTML in the lessons' style, as a widget. A `layout` that the page has already need not be sent."""
    return widgets.HTML(f'{STYLE}<div class="hawb-lesson">{page}</div>', layout=layout)


def exercise_view(exercise: Exercise) -> Text:
    """Return an exercise, with the format of its steps and its hints folded."""
    name, asked = _("Exercise {key}:", key=exercise.key), translated(exercise.question, LESSONS)
    form = _("The answer is {accepted}.", accepted=exercise.accepted)
    how = _("the allowed steps, and how to write them")
    verbs = folded(how, steps_html(exercise.verbs)) if exercise.verbs else ""
    question = f"<p><b>{escape(name)}</b> {escape(asked)}</p><p>{escape(form)}</p>"
    text = _("Exercise {key}: {question}", key=exercise.key, question=asked)
    return Text(text, question + verbs + hints_html(exercise))


def hints_html(exercise: Exercise) -> str:
    """Return an exercise's hints, each folded."""
    hints = enumerate((translated(hint, LESSONS) for hint in exercise.hints), 1)
    return "".join(folded(_("hint {number}", number=number), f"<p>{escape(hint)}</p>") for number, hint in hints)


def game_view(game: Game) -> Text:
    """Return a game's beginning with its rules; the format of moves and the hints are folded."""
    title, question, fate = (translated(text, LESSONS) for text in (game.title, game.question, game.fate))
    lines = [_("Game {key}: {title}", key=game.key, title=title), question]
    lines += [_("Then: {fate}.", fate=fate) if fate else "", game.rules]
    panels = [game.begin(AS_SHOWN).panel(_("as it begins"))]
    picture = pictures.svg(panels)
    paragraphs = "".join(f"<p>{escape(line)}</p>" for line in lines[1:] if line)
    moves = folded(_("how moves are written"), steps_html(game.verbs))
    page = f"<p><b>{escape(title)}</b></p>{paragraphs}{picture}{moves}{hints_html(game)}"
    return Text("\n".join([*map(fitted, filter(None, lines)), pictures.text(panels)]), page, picture)


def played_view(game: Game, result: Played) -> Text:
    """Return the result of a game's moves: the verdict, why, and the cluster before and after."""
    lines = [repr(result.verdict), *told_of(game, result)]
    paragraphs = "".join(f"<p>{escape(line)}</p>" for line in lines)
    if result.after is None:
        return Text("\n".join(map(fitted, lines)), paragraphs)
    panels = [result.before.panel(_("before")), result.after.panel(_("after"))]
    picture = pictures.svg(panels)
    return Text("\n".join([*map(fitted, lines), pictures.text(panels)]), paragraphs + picture, picture)


def steps_html(verbs: Sequence[str]) -> str:
    """Return a list of these verbs: an example of each, and its further fields."""
    entries = []
    for verb in verbs:
        step, more = repr(step_forms.example(verb)), step_forms.more(verb)
        entries.append(f"<li><code>{escape(step)}</code>{escape(f', {more}' if more else '')}</li>")
    when = with_code(_("Any step can also say when, in seconds: {example}.", example="`'at': 20`"))
    return f"<ul>{''.join(entries)}</ul><p>{when}</p>"


def rule_view(found: Rule) -> Text:
    """Return a rule's code, with its sources and scenarios folded."""
    says = "".join(f"<li>{escape(each)}</li>" for each in found.says)
    scenarios = "".join(
        f"<li>{escape(one.title)} (<code>{escape(one.name)}.yaml</code>)"
        + "".join(f"<br>{escape(did)}" for did in one.recorded)
        + "</li>"
        for one in found.scenarios
    )
    page = f"<p><b>{escape(found.name)}</b>, <code>{escape(found.file)}</code></p>"
    page += "" if in_force() == ENGLISH else f"<p>{with_code(found.summary)}</p>"  # the code has it in English
    page += f"<pre>{escape(found.code)}</pre>"
    page += f"<p>{with_code(found.source)}</p>"
    page += folded(_("what RabbitMQ's guide says"), f"<ul>{says}</ul>") if says else ""
    shown_by = _("scenarios that show it, and what a real broker did")
    page += folded(shown_by, f"<ul>{scenarios}</ul>") if scenarios else ""
    return Text(f"{found.name} ({found.file}): {found.summary}", page)


def with_code(text: str) -> str:
    """Return prose as HTML, text in backticks as code."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text))


def folded(title: str, page: str) -> str:
    """Return HTML that is folded below its title."""
    return f"<details><summary>{escape(title)}</summary>{page}</details>"


def cluster_view(cluster: Cluster) -> Text:
    """Return a cluster as diagram and tables; its text form is the queues."""
    return Text(repr(cluster), cluster._repr_html_(), cluster._repr_svg_())


def panels_view(clusters: Mapping[str, Cluster]) -> Text:
    """Return clusters side by side, each under its caption."""
    panels = [cluster.panel(caption) for caption, cluster in clusters.items()]
    picture = pictures.svg(panels)
    return Text(pictures.text(panels), picture, picture)


def log_view(cluster: Cluster, queue: str, times_s: Sequence[float]) -> Text:
    """Return a quorum queue's Raft logs at each of these times, in seconds, or now. Raise ValueError."""
    run, names = cluster.run, cluster.run.settings.names
    if not times_s:
        state = run.moment().state
        picture = pictures.logs_svg([("", state)], names, queue)
        return Text(cluster.raft(queue).rstrip(), raft.html(state, names, queue), picture)
    texts, page, plain = [], "", []
    for time_s in times_s:
        state = run.moment_at(time_s).state
        plain.append((f"at {time_s:g} s", state))
        texts.append(f"at {time_s:g} s\n{cluster.raft(queue, time_s)}")
        page += f'<p class="hawb-moment">at {time_s:g} s</p>{raft.html(state, names, queue)}'
    return Text("\n".join(texts).rstrip(), page, pictures.logs_svg(plain, names, queue))
