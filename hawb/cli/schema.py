"""The command that tells in which form others answer with --json: `hawb schema`."""

from __future__ import annotations

import click

from hawb.views.schemas import COMMANDS, kept


@click.command()
@click.argument("command", type=click.Choice(COMMANDS))
def schema(command: str) -> None:
    """Print the JSON Schema of what COMMAND answers with --json.

    Its $id ends in a version and the command. Within a version keys are added, and none is taken away or comes to mean
    something else; a program passes over keys that it does not know.
    """
    click.echo(kept(command), nl=False)
