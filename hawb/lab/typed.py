"""Values from the texts that a person types into the lab."""

from __future__ import annotations

import re
from pathlib import Path

SUFFIX = ".yaml"
NUMBER = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,9})?")


def file_named(name: str) -> Path:
    """The file that a name means, relative to the kernel's folder, the notebook's; `.yaml` may be left out.

    Raises ValueError for a text that is no file's name.
    """
    path = Path(name.strip())
    if "\0" in name or path.name in ("", ".."):
        raise ValueError("not the name of a file")
    return path if path.suffix else path.with_suffix(SUFFIX)


def number(text: str) -> object:
    """The decimal number that a text is, or else the text, to be refused where a number is needed."""
    text = text.strip()
    if not NUMBER.fullmatch(text):
        return text
    return float(text) if "." in text else int(text)
