"""Gauges as Prometheus reads them, in its text format of version 0.0.4: for a textfile collector or a pushgateway.

The format is four lines of rules; the library that writes it keeps registries and servers, which nobody needs who is
asked once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from hawb.views.formatting import printable

BACKSLASH, QUOTE, LINE = ("\\", r"\\"), ('"', r"\""), ("\n", r"\n")


class Gauge(Struct, frozen=True):
    """A gauge: its name, what it tells, and a number for each set of labels."""

    name: str
    help: str
    samples: Sequence[tuple[Mapping[str, str], float]]


def exposition(gauges: Sequence[Gauge]) -> str:
    """The gauges as text; one without a sample is told by its name alone."""
    lines = []
    for gauge in gauges:
        lines += [f"# HELP {gauge.name} {_escaped(gauge.help, BACKSLASH, LINE)}", f"# TYPE {gauge.name} gauge"]
        lines += [f"{gauge.name}{_labels(labels)} {value}" for labels, value in gauge.samples]
    return "\n".join([*lines, ""])


def _labels(labels: Mapping[str, str]) -> str:
    told = (f'{name}="{_escaped(value, BACKSLASH, QUOTE, LINE)}"' for name, value in labels.items())
    return f"{{{','.join(told)}}}" if labels else ""


def _escaped(text: str, *marks: tuple[str, str]) -> str:
    text = printable(text)
    for mark, escape in marks:
        text = text.replace(mark, escape)
    return text
