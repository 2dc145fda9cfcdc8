"""Commands of hawb as reports print them, with real file names.

The files are those that the user gave, or those that a previous command in the report writes. If neither is known there
is no command, because a placeholder would look like a real name.
"""

from __future__ import annotations

from collections.abc import Iterable

from hawb.views.markdown import bash_word

DEFINITIONS = "definitions.json"
EXPORT = f"rabbitmqctl export_definitions {DEFINITIONS}"
"""The command that writes a definitions export."""


def asking(command: str, files: Iterable[str], *options: str) -> tuple[str, ...]:
    """Return the command that asks about these files, with `options` as they are typed; () without files."""
    given = [*map(bash_word, files)]
    return (" ".join(["hawb", command, *given, *options]),) if given else ()
