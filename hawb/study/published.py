"""Published measurements: the tables in `data/published/`.

Each has its source, date, workload and method of reading.
"""

from __future__ import annotations

import datetime
from pathlib import Path

from msgspec import Struct, yaml

from hawb.scenario.checkout import data_folder_for

Row = dict[str, str | int | float | None]


class Table(Struct, frozen=True, forbid_unknown_fields=True):
    """A table. `columns` has the meaning of each column, units last in its name.

    Every row has all columns, with None where the source has no value.
    """

    what: str
    source: str
    date: datetime.date
    workload: str
    read: str
    columns: dict[str, str]
    rows: list[Row]
    more_sources: list[str] = []

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows):
            if row.keys() != self.columns.keys():
                odd = sorted(row.keys() ^ self.columns.keys())
                raise ValueError(f"rows[{number}]: {', '.join(odd)} in the row or in columns, but not in both")


def table(name: str, folder: Path | None = None) -> Table:
    """Return the table `NAME.yaml` of `folder` (by default `data/published` of the checkout).

    Raise FileNotFoundError if there is no such file, and msgspec.ValidationError if it is not a table.
    """
    return yaml.decode(((folder or published_folder()) / f"{name}.yaml").read_bytes(), type=Table)


def published_folder() -> Path:
    """Return `data/published` of the checkout (`hawb.scenario.checkout`). Raise FileNotFoundError outside of one."""
    return data_folder_for("data/published") / "published"
