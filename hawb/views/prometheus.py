"""Gauges in Prometheus's text format, version 0.0.4, for a textfile collector or a pushgateway.

The format has four rules. The client library would add registries and servers, which a single call does not need.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from hawb.views.formatting import printable

BACKSLASH, QUOTE, LINE = ("\\", r"\\"), ('"', r"\""), ("\n", r"\n")


class Gauge(Struct, frozen=True):
    """A gauge: its name, its help text, and a number for each set of labels."""

    name: str
    help: str
    samples: Sequence[tuple[Mapping[str, str], float]]


def exposition(gauges: Sequence[Gauge]) -> str:
    """Return the gauges as text; one without samples has only its header."""
    lines = []
    for gauge in gauges:
        lines += [f"# HELP {gauge.name} {_escaped(gauge.help, BACKSLASH, LINE)}", f"# TYPE {gauge.name} gauge"]
        lines += [f"{gauge.name}{_labels(labels)} {value}" for labels, value in gauge.samples]
    return "\n".join([*lines, ""])


def _labels(labels: Mapping[str, str]) -> str:
    pairs = (f'{name}="{_escaped(value, BACKSLASH, QUOTE, LINE)}"' for name, value in labels.items())
    return f"{{{','.join(pairs)}}}" if labels else ""


def _escaped(text: str, *marks: tuple[str, str]) -> str:
    text = printable(text)
    for mark, escape in marks:
        text = text.replace(mark, escape)
    return text
