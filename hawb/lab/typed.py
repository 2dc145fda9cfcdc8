"""What a person types into the lab, as values."""

from __future__ import annotations

import re
from pathlib import Path

SUFFIX = ".yaml"
NUMBER = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,9})?")


def file_named(name: str) -> Path:
    """The file that a name means, relative to the kernel's folder, the notebook's; `.yaml` may be left out.

    Raises ValueError for what is no file's name.
    """
    path = Path(name.strip())
    if "\0" in name or path.name in ("", ".."):
        raise ValueError("not the name of a file")
    return path if path.suffix else path.with_suffix(SUFFIX)


def number(text: str) -> object:
    """The decimal number that a text is, or the text, which whoever wants a number will refuse."""
    text = text.strip()
    if not NUMBER.fullmatch(text):
        return text
    return float(text) if "." in text else int(text)
