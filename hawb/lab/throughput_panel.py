"""Predict rates and latencies for the reader's own numbers in a notebook, with what the model does not cover."""

from __future__ import annotations

from html import escape

import ipywidgets as widgets

from hawb.lab import fields
from hawb.study.prediction import NotMeasuredError
from hawb.study.throughput import one_queue

TYPES = ("classic", "quorum")


class ThroughputPanel:
    """Fields, and predictions for one queue of each type; `box` is what the notebook displays."""

    def __init__(self) -> None:
        self._models = {queue_type: one_queue(queue_type) for queue_type in TYPES}
        setups = sorted({base for model in self._models.values() for base in model.bases})
        self.setup = fields.dropdown("machines and release", "whose measurements", setups)
        self.size = fields.text("bytes of a message", "size_bytes", "1024", width="14em")
        self.replicas = fields.text("copies", "of the queue, its master counted", "3", width="8em")
        self.in_flight = fields.text("unconfirmed at most", "empty: no limit", "1000", width="14em")
        self.answer = widgets.HTML()
        self._inputs = (self.setup, self.size, self.replicas, self.in_flight)
        for each in self._inputs:
            fields.watch(each, lambda _: self.show())
        self.box = fields.column(fields.row(*self._inputs), self.answer)
        self.show()

    def show(self) -> None:
        """Show predictions for the values in the fields."""
        self.answer.value = "".join(f"<h4>{name}</h4><pre>{escape(self._prediction(name))}</pre>" for name in TYPES)

    def _prediction(self, queue_type: str) -> str:
        model = self._models[queue_type]
        try:
            limit = _number(self.in_flight.value) if self.in_flight.value.strip() else None
            asked = {"setup": self.setup.value, "size_bytes": _number(self.size.value),
                     "replicas": _number(self.replicas.value), "in_flight": limit}  # fmt: skip
            lines = [str(model.rate(**asked))]
            return "\n".join(lines if limit is None else [*lines, str(model.latency(**asked))])
        except NotMeasuredError as refused:
            return str(refused)


def _number(text: str) -> float:
    """Return the typed number. Raise NotMeasuredError for other text."""
    try:
        return float(text.replace(",", ""))
    except ValueError:
        raise NotMeasuredError("a number", text, "digits, such as 1024") from None
