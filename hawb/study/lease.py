"""Who plays a study's folder: whoever began last, as a small file in it says.

Spark may go on with what nobody waits for any more: a Connect server does so after its client was killed, and may pass
over being told to stop. So the tasks of a run look here before each block and before its file is written, and leave the
rest to whoever came after them. What two of them might still do at the same moment is the same file, bit for bit.
"""

from __future__ import annotations

import uuid
from pathlib import Path

from msgspec import Struct

LEASE = ".played-by"


class LeaseLost(RuntimeError):  # noqa: N818 - it reads as what happened
    """Somebody else plays the folder now."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder}: another run of the study began there, and goes on with it")


class Lease(Struct, frozen=True):
    """A run's hold of a folder, under a name that no other run has."""

    folder: Path
    name: str

    @classmethod
    def taken(cls, folder: Path) -> Lease:
        """A new one, in place of whoever held the folder."""
        lease = cls(folder, f"hawb-{uuid.uuid4().hex}")
        aside = folder / f"{LEASE}-{lease.name}"
        aside.write_text(lease.name, encoding="ascii")
        aside.replace(folder / LEASE)
        return lease

    @property
    def is_held(self) -> bool:
        """Whether nobody took the folder since, and it was not given up."""
        try:
            return (self.folder / LEASE).read_text(encoding="ascii") == self.name
        except FileNotFoundError:
            return False

    def give_up(self) -> None:
        """Nobody plays the folder from now on, unless somebody else does."""
        if self.is_held:
            (self.folder / LEASE).unlink(missing_ok=True)
