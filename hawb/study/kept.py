"""The results of larger studies, kept in the checkout's `data/studies/results`: estimates, and how they were made.

Only aggregates are kept: the trials are hundreds of thousands of rows that `make studies` can play again. A file
identifies its question by a digest of all that decides the rows, so that a changed question is detected.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import product
from pathlib import Path

import msgspec
from msgspec import Struct

from hawb.scenario.checkout import data_folder_for
from hawb.study.cells import decides, digest, without_none
from hawb.study.live import Estimate
from hawb.study.numbers import PRICE
from hawb.study.question import Study

COLUMNS = (
    "design", "environment", "measure", "mean", "mean_low", "mean_high", "trials_for_mean", "share", "share_low",
    "share_high", "effective_trials", "difference", "difference_low", "difference_high",
)  # fmt: skip
MEASURES = (
    "lost_confirmed", "delivered_twice", "publish_down_s", "consume_down_s", "queue_down_s", "sync_blocked_s",
    "metadata_down_s", "bytes_replicated",
)  # fmt: skip
"""The measures of records that are kept, beside the price where the study has prices."""
DIGITS = 4
"""The significant digits that are kept; one digit more would be finer than the intervals."""


class Kept(Struct, frozen=True, forbid_unknown_fields=True):
    """The results of one study, with `trials` in each cell of `horizon_days` days.

    `played` trials in all were played in `played_s` seconds on `cores` cores when this was written. Differences are
    from the design `baseline`; older files have none.
    """

    study: str
    question: str
    command: str
    seed: int
    trials: int
    horizon_days: float
    cores: int
    played: int
    played_s: float
    columns: tuple[str, ...]
    rows: list[list[str | float | None]]
    baseline: str | None = None

    @property
    def estimates(self) -> list[Estimate]:
        """Return the rows in the form of `hawb.study.live.live`."""
        return [dict(zip(self.columns, row, strict=True)) | {"trials": self.trials} for row in self.rows]

    def __str__(self) -> str:
        command = self.command.replace(" --", "\n    --")
        return (
            f"{self.study}\n{self.trials:,} trials of {self.horizon_days:g} days in each cell; {self.played:,} trials"
            f" in {self.played_s:,.0f} s on {self.cores} cores, by\n  {command}"
        )


def question(study: Study) -> str:
    """Return a digest of all that decides a study's rows, their number and the controls included."""
    given = {"trials": study.trials, "precision": study.precision, "control": study.control}
    limits = without_none(msgspec.to_builtins(given))
    return digest(decides(study) | limits)


def as_text(
    study: Study, command: str, estimates: Iterable[Estimate], played: int, played_s: float, baseline: str
) -> str:
    """Return the results of a study as text for a file, a row on a line.

    `estimates` have differences from the baseline.
    """
    found = {(row["environment"], row["design"], row["measure"]): row for row in estimates}
    places = (place for place in product(study.environments, study.designs, (*MEASURES, PRICE)) if place in found)
    rows = [[_rounded(found[place].get(column)) for column in COLUMNS] for place in places]
    stored = Kept(
        study=study.study, question=question(study), command=command, seed=study.seed, trials=study.trials,
        horizon_days=study.horizon_days, cores=os.cpu_count() or 1, played=played, played_s=round(played_s, 1),
        baseline=baseline, columns=COLUMNS, rows=[],
    )  # fmt: skip
    lines = [f' "{name}": {_json(value)}' for name, value in msgspec.to_builtins(stored).items() if name != "rows"]
    each = ",\n".join(f"  {_json(row)}" for row in rows)
    return "{\n" + ",\n".join([*lines, f' "rows": [\n{each}\n ]']) + "\n}\n"


def kept(name: str, folder: Path | None = None) -> Kept:
    """Return the results `NAME.json` of `folder` (by default `data/studies/results` of the checkout).

    Raise FileNotFoundError if there is no such file, and msgspec.ValidationError if it does not contain results.
    """
    return msgspec.json.decode(((folder or results_folder()) / f"{name}.json").read_bytes(), type=Kept)


def results_folder() -> Path:
    """Return `data/studies/results` of the checkout. Raise FileNotFoundError outside of one."""
    return data_folder_for("data/studies/results") / "studies" / "results"


def _rounded(value: str | float | None) -> str | float | None:
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
