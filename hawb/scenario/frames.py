"""Plain values that can also be a DataFrame: `Cluster.queues`, `.ledger`, `.losses`, `.errors` and `.events`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pandas import DataFrame


class ByName(dict[str, dict]):
    """Maps by name."""

    def to_frame(self) -> DataFrame:
        """Return a DataFrame with a row for each name. Raise ImportError without pandas."""
        return _pandas().DataFrame.from_dict(self, orient="index")


class Rows(list[dict]):
    """Maps in order."""

    def to_frame(self) -> DataFrame:
        """Return a DataFrame with a row for each map. Raise ImportError without pandas."""
        return _pandas().DataFrame(list(self))


def _pandas():
    try:
        import pandas
    except ImportError as error:
        raise ImportError("A DataFrame needs pandas, which is not installed: pip install 'hawb[lab]'") from error
    return pandas
