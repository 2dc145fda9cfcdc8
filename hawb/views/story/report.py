"""The report of a run as one web page: the end of a story, how it came about, and its figures.

Names are untrusted input and are escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hawb.languages import N_, _
from hawb.planning.advised import Advice
from hawb.views.cluster import ledger, load, matrix, queue_table
from hawb.views.formatting import html, prose, seconds, size
from hawb.views.page import LIMITS, closed, figure, pre, report_page, section
from hawb.views.report import Part, Report
from hawb.views.story import chain, lanes
from hawb.views.story.chain import Link
from hawb.views.story.chronicle import Chronicle
from hawb.views.story.losses import parts
from hawb.views.story.run_report import HAPPENED, LOST, REFUSED, about, refusal
from hawb.views.story.telling import Sentence, sentences
from hawb.views.story.why import whys
from hawb.views.verdicts.run import NO_ADVICE, QUESTION, todo, verdict

MOST_LANES = 6
"""The number of queues with lanes of their own: those that lost most, then those that were unavailable longest."""


def report_of(outcome: dict, advice: Advice = NO_ADVICE) -> Report:
    """Return the report on an outcome: what was lost and why, and what RabbitMQ refused."""
    lost, refused = tuple(whys(outcome)), tuple(refusal(error) for error in outcome["errors"])
    parts = [Part(_(title), None, notes) for title, notes in ((LOST, lost), (REFUSED, refused)) if notes]
    about_it = _("{words}.", words=about(outcome))
    answer = verdict(outcome, advice.unknown)
    return Report(_(QUESTION), about_it, answer, todo(outcome, advice), tuple(parts), (_(LIMITS),))


def page(outcome: dict, scenario: str, advice: Advice = NO_ADVICE) -> str:
    """Return the page of an outcome; `scenario` is the text of the scenario file."""
    return report_page(report_of(outcome, advice), *drawn(outcome, scenario))


def drawn(outcome: dict, scenario: str) -> tuple[list[str], list[str], dict[str, str]]:
    """Return the pictures of the page, the sections below them, and the part on losses by its title."""
    all_sentences = sentences(outcome)
    losses = {_(LOST): why(outcome)}
    return pictures(outcome, all_sentences), below(outcome, all_sentences, scenario), losses


def why(outcome: dict) -> str:
    """Return what was lost and why: each paragraph below its chain of causes, as HTML."""
    chronicle, paragraphs = Chronicle(outcome), whys(outcome)
    chains = [chain.of_loss(chronicle, loss, part) for loss in outcome["losses"] for part in parts(chronicle, loss)]
    drawn = [causes(links, number) for number, links in enumerate(chains)] + [""] * (len(paragraphs) - len(chains))
    return "".join(f"{each}<p>{prose(text)}</p>" for each, text in zip(drawn, paragraphs, strict=True))


def causes(links: Sequence[Link], number: int) -> str:
    """Return a chain of causes as HTML; "" without causes. Each cause opens its sentence; `number` makes ids unique."""
    items = []
    for at, link in enumerate(links):
        mark, name = chain.glyph(link.tone), f"cause-{number}-{at}"
        text = f'<i aria-hidden="true">{mark}</i> {html(link.text)}' if mark else html(link.text)
        items.append(
            f'<li><button type="button" class="{link.tone}" popovertarget="{name}">{text}</button>'
            f'<div popover id="{name}">{prose(link.told)}</div></li>'
        )
    name = _("the chain of causes")
    return f'<ol class="chain" aria-label="{html(name)}">{"".join(items)}</ol>' if items else ""


def pictures(outcome: dict, all_sentences: Sequence[Sentence]) -> list[str]:
    """Return the pictures of the page: replicas at the end, and lanes of the nodes and of the queues with most harm."""
    drawn = [figure(matrix.svg(outcome), _("Which node holds which messages at the"
                                           " end"), slim=matrix.svg(outcome, slim=True))]
    for queue in (None, *worst(outcome)):
        of_queue = N_("The role of each node for {queue}, over time")
        caption = _(of_queue, queue=queue) if queue is not None else _("The state of each node, over time")
        wide, slim = (lanes.svg(outcome, queue, all_sentences, slim=narrow) for narrow in (False, True))
        drawn.append(figure(wide, caption, slim=slim))
    return drawn


def below(outcome: dict, all_sentences: Sequence[Sentence], scenario: str) -> list[str]:
    """Return the sections below: figures of queues and nodes, the story, and the scenario."""
    tables = (ledger.html(outcome), queue_table.html(outcome), load.table_html(outcome))
    title = _("In numbers")
    scroll = (f'<div class="wide" role="region" tabindex="0" aria-label="{html(title)}, {at}">{table}</div>'
              for at, table in enumerate(tables, 1))  # fmt: skip
    return [section(title, *scroll), section(_(HAPPENED), story(all_sentences)),
            closed(_("This story as a scenario file"), scenario)]  # fmt: skip


def worst(outcome: dict) -> list[str]:
    """Return the queues that get lanes: those that lost messages or were unavailable, the worst first."""
    harm = {
        name: (size(account["lost"]), outcome["availability"][name]["publish_down_s"])
        for name, account in outcome["ledger"].items()
    }
    return sorted((name for name in harm if any(harm[name])), key=lambda name: harm[name], reverse=True)[:MOST_LANES]


def story(all_sentences: Iterable[Sentence]) -> str:
    """Return the story as an HTML list of sentences, with the lines that the broker logs."""
    items = []
    for one in all_sentences:
        logged = pre(one.log_line) if one.log_line else ""
        when = _("{t} s", t=seconds(one.t))
        items.append(f"<li><time>{when}</time><div>{prose(one.text)}{logged}</div></li>")
    return f'<ol class="story">{"".join(items)}</ol>'
