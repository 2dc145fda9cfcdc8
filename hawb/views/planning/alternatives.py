"""The changes of a story that would have kept messages, with what each keeps and costs, as text and HTML.

Names are untrusted input and are escaped. Seconds, bytes and messages are those of the harmed queue alone, by the
model's times.
"""

from __future__ import annotations

from collections.abc import Callable

from hawb.engine.core import runs
from hawb.languages import N_, _
from hawb.planning.alternatives import Alternative, Alternatives, Result
from hawb.planning.harm import Harm
from hawb.scenario import numbering
from hawb.views import style, tables
from hawb.views.cluster.matrix import STATES
from hawb.views.display import mimebundle
from hawb.views.formatting import brief, counted, html, seconds, shown
from hawb.views.terminal import columns

COLUMNS: dict[str, Callable[[Result], str]] = {
    N_("lost (confirmed)"): lambda result: f"{runs.size(result.lost):,} ({result.lost_confirmed:,})",
    N_("refused"): lambda result: f"{runs.size(result.refused):,}",
    N_("at the end"): lambda result: state_word(result),
    N_("unavailable s"): lambda result: seconds(result.unavailable_s) if result.state == "running" else _("to the end"),
    N_("sync s"): lambda result: seconds(result.sync_blocked_s),
    N_("sent"): lambda result: f"{brief(result.bytes_replicated)}B",
    N_("copies"): lambda result: str(result.copies),
}
"""The figures of a story: the messages that the queue lost, how many of them had been confirmed, and its costs.

`unavailable s` has no number if the queue is still unavailable at the end, `sync s` is the time for which
synchronisation blocked the queue, and `sent` the bytes sent to its replicas.
"""

BAD: dict[str, Callable[[Result], str]] = {
    "lost (confirmed)": lambda result: "lost" if result.lost else "",
    "at the end": lambda result: "" if result.state == "running" else "down",
}
"""The look shown next to a figure, "" for none."""

AS_IT_WENT, CANNOT_BE = N_("the story unchanged"), N_("not possible ({reason})")
TEXT_CELL = "padding:1px 8px 1px 0;text-align:left;overflow-wrap:break-word;min-width:11em"
HEAD_CELL = "padding:1px 5px;text-align:right;vertical-align:bottom"
CELL = "padding:1px 5px;text-align:right;white-space:nowrap"




def state_word(result: Result) -> str:
    """Return the state of the queue at the end, in words."""
    state = STATES[result.state]
    return _(state)


class Table:
    """The answer as a table for notebooks and terminals; `alternatives` has the runs behind it."""

    def __init__(self, alternatives: Alternatives):
        self.alternatives = alternatives

    def __repr__(self) -> str:
        return text(self.alternatives)

    def _repr_html_(self) -> str:
        return table_html(self.alternatives)

    _repr_mimebundle_ = mimebundle


def harm_in_words(harm: Harm, step: str) -> str:
    """Return the harm in words, followed by the verb of the step."""
    happened = (
        N_("{messages} of {queue} lost at {t} s, by step {number} ({verb})")
        if harm.lost
        else N_("{queue} could not be used at {t} s, by step {number} ({verb})")
    )
    words = {"queue": shown(harm.queue), "t": seconds(harm.t_s), "number": numbering.number(harm.step), "verb": step}
    return _(happened, messages=counted(runs.size(harm.lost)), **words)


def text(alternatives: Alternatives) -> str:
    """Return the table for a terminal, followed by the changes that are impossible, with reasons."""
    possible, impossible = _parted(alternatives)
    rows = [[_(AS_IT_WENT), "", "", *_figures(alternatives.as_played)]]
    for one in possible:
        rows.append([shown(one.change.what), shown(one.change.where), f"{one.kept:,}", *_figures(one.result)])
    table = columns(rows, [_("change"), _("where"), _("kept"), *map(_, COLUMNS)], None, (2, 3, 4, 6, 7, 8, 9))
    cannot = [f"{shown(one.change.what)}: {_(CANNOT_BE, reason=shown(one.change.impossible))}" for one in impossible]
    return "\n".join([table, *cannot])


def table_html(alternatives: Alternatives) -> str:
    """Return the table as HTML.

    A change that keeps messages has the mark of a synchronised mirror; a figure with remaining losses has the mark of a
    loss.
    """
    possible, impossible = _parted(alternatives)
    heads = {_("change"): TEXT_CELL} | dict.fromkeys([_("kept"), *map(_, COLUMNS)], HEAD_CELL)
    body = _row(_(AS_IT_WENT), "", "", alternatives.as_played)
    body += "".join(_row(one.change.what, one.change.where, f"{one.kept:,}", one.result) for one in possible)
    for one in impossible:
        reason = _(CANNOT_BE, reason=f"<bdi>{html(one.change.impossible)}</bdi>")
        reason_cell = f'<td colspan="{len(heads) - 1}" style="{TEXT_CELL};color:{style.FAINT}">{reason}</td>'
        body += f"<tr>{_head(one.change.what, one.change.where)}{reason_cell}</tr>"
    return tables.table(_("What would have kept {queue}", queue=html(alternatives.harm.queue)), heads, body)


def _parted(alternatives: Alternatives) -> tuple[list[Alternative], list[Alternative]]:
    return (
        [one for one in alternatives.changed if one.result is not None],
        [one for one in alternatives.changed if one.result is None],
    )


def _figures(result: Result) -> list[str]:
    return [figure(result) for figure in COLUMNS.values()]


def _row(what: str, where: str, kept: str, result: Result) -> str:
    mark = _glyph("synchronised") if kept not in ("", "0") else ""
    cells = [f'<td style="{CELL}">{kept}{mark}</td>']
    for name, figure in COLUMNS.items():
        look = BAD[name](result) if name in BAD else ""
        text, glyph = html(figure(result)), _glyph(look) if look else ""
        cells.append(f'<td style="{CELL}{";font-weight:600" if look else ""}">{text}{glyph}</td>')
    return f"<tr>{_head(what, where)}{''.join(cells)}</tr>"


def _glyph(role: str) -> str:
    look = style.LOOKS[role]
    return f' <span aria-hidden="true" style="color:{look.colour}">{look.glyph}</span>'


def _head(what: str, where: str) -> str:
    place = f' <small style="color:{style.FAINT}"><bdi>{html(where)}</bdi></small>' if where else ""
    return f'<th scope="row" style="{TEXT_CELL};font-weight:400"><bdi>{html(what)}</bdi>{place}</th>'
