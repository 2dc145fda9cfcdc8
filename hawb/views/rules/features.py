"""The features of classic and quorum queues as tables for a notebook: side by side, and by release.

The matrix is the checkout's `data/feature-matrix.yaml`; each of its cells names RabbitMQ's code.
"""

from __future__ import annotations

from pathlib import Path

from hawb.rules.feature_matrix import Cell, Feature, QueueType, read_matrix
from hawb.rules.profiles import PROFILES
from hawb.scenario.checkout import data_folder_for
from hawb.views.tables import Table


def matrix(data: Path | None = None) -> dict[str, Feature]:
    """Return the features by name. Raise FileNotFoundError outside a checkout."""
    folder = data or data_folder_for("the matrix of features")
    return read_matrix((folder / "feature-matrix.yaml").read_text(encoding="utf-8"))


def side_by_side(version: str, data: Path | None = None) -> Table:
    """Return the features of classic and quorum queues in the release of a profile.

    Raise KeyError for a version without a profile.
    """
    release = PROFILES[version].release
    rows = [
        (feature.feature, feature.what, words(feature.cell("classic", version)), words(feature.cell("quorum", version)))
        for feature in matrix(data).values()
    ]
    return Table(f"RabbitMQ {release}", ("feature", "what it is", "classic", "quorum"), rows)


def through_releases(queue_type: QueueType, data: Path | None = None) -> Table:
    """Return what each release does if a queue of a type asks for a feature, after what the guide of 2018 says."""
    rows = [
        (
            feature.feature,
            getattr(feature.guide, queue_type) if feature.guide else "",
            *(brief(feature.cell(queue_type, version)) for version in PROFILES),
        )
        for feature in matrix(data).values()
    ]
    return Table(f"{queue_type.capitalize()} queues", ("feature", "guide, 2018", *PROFILES), rows)


def words(cell: Cell) -> str:
    """Return a cell in full: if a release has the feature, how it refuses it, and how it works there."""
    return ": ".join(filter(None, (brief(cell), cell.how)))


def brief(cell: Cell) -> str:
    """Return a cell in a few words."""
    if cell.refused:
        return f"{cell.answer}, refused with {cell.refused.code}"
    return f"{cell.answer}, ignored" if cell.ignored else cell.answer
