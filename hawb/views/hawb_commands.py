"""Commands of hawb as reports print them: with the files that they were asked about, or with files that a command
above them writes. Where neither is known there is no command: a name that stands for nothing would only look like one.
"""

from __future__ import annotations

from collections.abc import Iterable

from hawb.views.markdown import bash_word

DEFINITIONS = "definitions.json"
EXPORT = f"rabbitmqctl export_definitions {DEFINITIONS}"
"""The command that writes a definitions export."""


def asking(command: str, files: Iterable[str], *options: str) -> tuple[str, ...]:
    """Return the command that asks about these files, with `options` as they are typed; none without files."""
    given = [*map(bash_word, files)]
    return (" ".join(["hawb", command, *given, *options]),) if given else ()
