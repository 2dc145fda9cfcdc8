"""Writing a scenario, or anything else, to a file: whole or not at all, and over another file only if told so. Lines
end the same way on every system."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write(file: Path, content: str | bytes, replace: bool = True) -> None:
    """Writes text, or bytes, to a file. Raises FileExistsError where one stands and is not to be replaced, and other
    OSErrors."""
    descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=".hawb-")
    written = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content.encode() if isinstance(content, str) else content)
        written.chmod(0o644)
        if replace:
            written.replace(file)
        else:
            file.hardlink_to(written)
    finally:
        written.unlink(missing_ok=True)
