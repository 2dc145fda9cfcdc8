"""Write the page of the command `hawb`: each command with its arguments, its options and the extras that it needs."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click

import hawb.cli
from hawb.cli.extra import TAKEN
from hawb.docs.prose import line, paragraphs
from hawb.views import markdown

HEAD = """# The command

{doc}

Most commands first give the answer in a sentence, then say what to do. Tables and assumptions follow. `hawb COMMAND
--help` shows the same text as this page.

"""


def cli_page() -> str:
    """Return the page, from the commands' own help."""
    root = click.Context(hawb.cli.main, info_name="hawb")
    parts = [HEAD.format(doc=paragraphs(_exits())), _overview()]
    for name, command in hawb.cli.every_command().items():
        parts += [f"## `hawb {name}`\n", *_command(click.Context(command, info_name=name, parent=root))]
    return "\n".join(parts)


def _exits() -> str:
    """Return the meanings of exit statuses: the docstring of `hawb.cli` without its first and last paragraphs."""
    return "\n\n".join(inspect.getdoc(hawb.cli).split("\n\n")[1:-1])


def _overview() -> str:
    rows = [(f"[`{name}`](#hawb-{name})", line(command.get_short_help_str(200)))
            for name, command in hawb.cli.every_command().items()]  # fmt: skip
    return markdown.table(("command", "what for"), rows) + "\n"


def _command(context: click.Context) -> Iterator[str]:
    command = context.command
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield f"`{usage}`\n"
    yield paragraphs(command.help) + "\n"
    rows = [(_option(left), line(right.replace("  [", " ["))) for left, right in _records(context)]
    yield markdown.table(("option", "what it does"), rows) + "\n"
    for taken in TAKEN:
        if taken.command == command.name:
            yield f"- `{taken}` needs the extra `{taken.extra}`.\n"


def _records(context: click.Context) -> Iterator[tuple[str, str]]:
    for parameter in context.command.get_params(context):
        record = parameter.get_help_record(context)
        if record and record[1]:
            yield record


def _option(text: str) -> str:
    return ", ".join(markdown.code(part) for part in text.split(", "))
