"""The findings of `hawb check` as issues with file and line, for CI systems."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from hawb.scenario import inputs, text
from hawb.scenario.expect import Difference
from hawb.scenario.refused import ScenarioRefused, Where
from hawb.views.issues import Case, Issue, Rule

DIFFERS, REFUSED = "outcome-differs", "scenario-refused"
RULES = (
    Rule(
        DIFFERS, "error", "A scenario's outcome differs from what the file expects.",
        "Look at the story with hawb run, and correct the expected outcome or the steps.",
    ),
    Rule(
        REFUSED, "error", "hawb does not play a scenario file that does not have the right format.",
        "Correct the named place: the message says what hawb accepts there.",
    ),
)  # fmt: skip


class Checked(Struct, frozen=True):
    """A scenario file with its title, and either its differences from the expected outcome or the refusal."""

    file: Path
    title: str = ""
    differences: Sequence[Difference] = ()
    refused: ScenarioRefused | None = None

    @property
    def exit_status(self) -> int:
        """Return 2 if the scenario was refused, 1 if its outcome differs from what it expects, else 0."""
        return 2 if self.refused is not None else 1 if self.differences else 0


def case(checked: Checked) -> Case:
    """Return the file as a case for JUnit, named by its title if the file could be read."""
    title = f"{checked.file}: {checked.title}" if checked.title else str(checked.file)
    return Case(title, issues(checked), broken=checked.refused is not None)


def issues(checked: Checked) -> list[Issue]:
    """Return the issues of a file, each with the line of the expectation that is not met, or of the refused field."""
    file = None if str(checked.file) == "-" else str(checked.file)
    if checked.refused is not None:
        refused, first = checked.refused, str(checked.refused).splitlines()
        text = "; ".join([refused.problem, *(line.strip() for line in first[1:])])
        return [Issue(REFUSED, "error", refused.field or "scenario", text, file, refused.line)]
    lines = _lines(checked.file) if checked.differences else {}
    return [
        Issue(DIFFERS, "error", difference.place, str(difference), file, lines.get(_expectation(difference)))
        for difference in checked.differences
    ]


def _expectation(difference: Difference) -> Where:
    """Return the path of the expectation that is not met, of at most three keys."""
    return ("expect",) if difference.step is None else ("steps", difference.step, "expect")


def _lines(file: Path) -> dict[Where, int]:
    """Return the lines of values at most three keys deep; none if the file is large or cannot be read again."""
    try:
        content = inputs.content(file)
    except OSError:
        return {}
    return text.lines(content, 3) if len(content) <= text.MOST_LOCATED else {}
