"""Writing a scenario to a file: whole or not at all, and over another file only if told so."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write(file: Path, text: str, replace: bool = True) -> None:
    """Writes text to a file. Raises FileExistsError where one stands and is not to be replaced, and other OSErrors."""
    descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=".hawb-")
    written = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
        written.chmod(0o644)
        if replace:
            written.replace(file)
        else:
            file.hardlink_to(written)
    finally:
        written.unlink(missing_ok=True)
