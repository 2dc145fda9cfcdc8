"""The matrix of features: what classic and quorum queues can do in each release, and what a guide says of it.

The matrix is `data/feature-matrix.yaml`, handed over as text. `hawb.rules.queue_arguments` and
`hawb.rules.quorum_declaration` decide on declarations; tests compare them with the matrix.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, yaml

from hawb.rules.profiles import PROFILES

QueueType = Literal["classic", "quorum"]
Answer = Literal["yes", "no", "partly"]


class Refusal(Struct, frozen=True, forbid_unknown_fields=True):
    """The reply code and the text with which RabbitMQ refuses a feature; {queue} is the queue as its texts name it."""

    code: int
    text: str


class Cell(Struct, frozen=True, forbid_unknown_fields=True):
    """The availability of a feature to queues of one type in some releases, with its source in RabbitMQ's code.

    `refused` is RabbitMQ's refusal of a request for it; `ignored` is True if RabbitMQ accepts the request and changes
    nothing. With neither there is nothing to request, or it is granted.
    """

    versions: list[str]
    answer: Answer
    source: str
    how: str = ""
    refused: Refusal | None = None
    ignored: bool = False

    def __post_init__(self) -> None:
        if self.answer == "yes" and (self.refused or self.ignored):
            raise ValueError("answer: yes is neither refused nor ignored")
        if self.refused and self.ignored:
            raise ValueError("refused, ignored: write at most one of the two")


class Said(Struct, frozen=True, forbid_unknown_fields=True):
    """A row of the guide's own matrix, with the guide's words."""

    row: str
    classic: str
    quorum: str


class Declared(Struct, frozen=True, forbid_unknown_fields=True):
    """A declaration that asks for a feature: arguments, and fields that differ from a durable queue's."""

    durable: bool = True
    exclusive: bool = False
    auto_delete: bool = False
    arguments: dict[str, object] = {}


class Feature(Struct, frozen=True, forbid_unknown_fields=True):
    """A feature: its description, the guide's statement and each release's behaviour. `policy` is its policy key."""

    feature: str
    what: str
    classic: list[Cell]
    quorum: list[Cell]
    guide: Said | None = None
    declare: Declared | None = None
    policy: str | None = None

    def __post_init__(self) -> None:
        for queue_type in ("classic", "quorum"):
            listed = sorted(version for cell in getattr(self, queue_type) for version in cell.versions)
            if listed != sorted(PROFILES):
                raise ValueError(f"{queue_type}: each of {', '.join(PROFILES)} once, not {', '.join(listed)}")

    def cell(self, queue_type: QueueType, version: str) -> Cell:
        """Return the cell of a queue type in the release of a profile."""
        return next(cell for cell in getattr(self, queue_type) if version in cell.versions)


def read_matrix(text: str) -> dict[str, Feature]:
    """Return the features by name, in their order.

    Raise msgspec.ValidationError, with the place, for an invalid file.
    """
    features = yaml.decode(text, type=list[Feature])
    return {feature.feature: feature for feature in features}
