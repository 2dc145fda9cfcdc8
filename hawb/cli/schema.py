"""The command that prints the JSON Schema of another command's --json output: `hawb schema`."""

from __future__ import annotations

import click

from hawb.views.schemas import COMMANDS, kept


@click.command()
@click.argument("command", type=click.Choice(COMMANDS))
def schema(command: str) -> None:
    """Print the JSON Schema of COMMAND's --json output.

    The $id contains a version and the command. Within a version, keys may be added; no key is removed or changes its
    meaning. Programs must ignore keys that they do not know.
    """
    click.echo(kept(command), nl=False)
