"""The command `hawb`.

Exit statuses, which the help of most commands explains further:

- 0: done, or the answer is yes
- 1: the answer is no: for example, `check` found a difference, `lint` found a mistake, `safe` found a node that is not
  safe to stop, or `upgrade` found no plan without loss
- 2: the input is refused, the management API does not answer, or an output cannot be written
- 3: hawb cannot tell, because the files lack a fact that the answer depends on
- 70: hawb failed because of a bug
- 129, 130, 143: stopped by a closed terminal, Ctrl-C or SIGTERM

To start fast, hawb imports a command's module only when the command is called, and imports heavy packages inside the
command's function. A command that needs an extra checks that the extra is installed (`hawb.cli.extra`).
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

import click

from hawb import __version__
from hawb.cli.destinations import looked_at_first
from hawb.cli.extra import asked_first
from hawb.cli.files import Refusing

SECTIONS: Mapping[str, Mapping[str, str]] = {
    "Understand": {
        "run": "scenarios", "check": "scenarios", "lab": "workbook", "lessons": "workbook", "rule": "rules",
    },
    "Your cluster": {
        "import": "clusters", "safe": "planning", "lint": "planning", "replicas": "migrating", "upgrade": "upgrade",
        "migrate": "migrating", "watch": "clusters", "incident": "incident", "rates": "rates",
    },
    "At scale": {"study": "spark", "audit": "spark", "explore": "planning"},
    "For developers": {
        "compare": "real_broker", "record": "real_broker", "fuzz": "real_broker", "schema": "schema",
    },
}  # fmt: skip
"""The commands under the headings of `hawb --help`, in its order, each with its module."""

MODULES = {name: module for commands in SECTIONS.values() for name, module in commands.items()}


class Sections(Refusing):
    """List the commands under the headings of `SECTIONS`, and import a command's module when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted(MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of this name, or None."""
        if cmd_name in MODULES and cmd_name not in self.commands:
            module = vars(import_module(f"hawb.cli.{MODULES[cmd_name]}"))
            [command] = [each for each in module.values() if isinstance(each, click.Command) and each.name == cmd_name]
            self.add_command(asked_first(looked_at_first(command)))
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each section with the first sentence of each command's help."""
        width = max(map(len, MODULES))
        every = every_command()
        for heading, names in SECTIONS.items():
            with formatter.section(heading):
                limit = formatter.width - formatter.current_indent - width - 2
                formatter.write_dl([(name.ljust(width), every[name].get_short_help_str(limit)) for name in names])


@click.group(cls=Sections, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="hawb")
def main() -> None:
    """Simulate RabbitMQ's replicated queues and show what is lost when a node goes down, and why."""


def every_command() -> dict[str, click.Command]:
    """Return all commands by their names, in alphabetical order."""
    context = click.Context(main)
    found = {name: main.get_command(context, name) for name in main.list_commands(context)}
    return {name: command for name, command in found.items() if command is not None}
