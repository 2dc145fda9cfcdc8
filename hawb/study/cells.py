"""A cell of a study: one design in one environment, with a name that identifies all that decides its trials.

The name (`Cell.key`) ends with a digest of design, environment, seed and horizon. So a later run finds trials that were
played before, even if other parts of the study's file have changed: more trials, more designs, a setting that was
changed and changed back. A changed setting makes another cell, which never uses kept trials of the old one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hawb.study.question import Study

DIGITS = 16
"""The length of a digest: the chance that two of a million cells share one is one in ten million."""

LABEL = "study"
"""The name of a study that came from no file."""


class Cell(Struct, frozen=True):
    """One design in one environment: `study` has no others, and `label` is the name of the whole study."""

    label: str
    study: Study
    key: str

    @classmethod
    def of(cls, label: str, study: Study, design: str, environment: str) -> Cell:
        """Return the cell of a design and an environment of a study."""
        alone = replace(
            study, designs={design: study.designs[design]}, environments={environment: study.environments[environment]},
            sources={}, precision=None, control=None, trials=1,
        )  # fmt: skip
        return cls(label, alone, f"{design}.{environment}.{digest(decides(alone))}")

    @property
    def place(self) -> str:
        """Return the cell's name among those of all studies in a folder."""
        return f"{self.label}/{self.key}"

    @property
    def design(self) -> str:
        """Return the name of the cell's design."""
        return next(iter(self.study.designs))

    @property
    def environment(self) -> str:
        """Return the name of the cell's environment."""
        return next(iter(self.study.environments))


def cells_of(study: Study, label: str = LABEL) -> list[Cell]:
    """Return the cells of a study, in the order of its file."""
    return [Cell.of(label, study, design, environment) for design, environment in study.cells]


def label_of(file: Path) -> str:
    """Return the name of a study in a file: the file's name without its suffix."""
    return file.stem


def decides(study: Study) -> dict[str, Any]:
    """Return, as plain values, all that decides a study's rows but their number; settings of None are left out."""
    values = without_none(msgspec.to_builtins(study))
    return {name: values[name] for name in ("seed", "horizon_days", "designs", "environments")}


def digest(values: dict[str, Any]) -> str:
    """Return a short hash of plain values."""
    return hashlib.sha256(msgspec.json.encode(values, order="deterministic")).hexdigest()[:DIGITS]


def without_none(value: Any) -> Any:
    """Return plain values without map entries that are None."""
    if isinstance(value, dict):
        return {key: without_none(inner) for key, inner in value.items() if inner is not None}
    return [without_none(inner) for inner in value] if isinstance(value, list) else value


def settings(cell: Cell) -> Iterator[tuple[str, Any]]:
    """Yield each setting of a cell as a plain value, with a unique name such as `environment_traffic_publish_per_s`.

    The settings of a part that is not set are left out.
    """
    yield from _settings("design", cell.study.designs[cell.design])
    yield from _settings("environment", cell.study.environments[cell.environment])


def _settings(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Struct):
        for field in msgspec.structs.fields(value):
            yield from _settings(f"{name}_{field.name}", getattr(value, field.name))
    else:
        yield name, value
