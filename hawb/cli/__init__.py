"""The command `hawb`. Exit status 0: done; 1: `check`, `compare` or `fuzz` found a difference, `lint` an error, `safe`
that a node is not safe to stop, `migrate` a queue that cannot be moved, `explore` a story, or `upgrade` no plan without
loss; 2: the input was refused, a running cluster could not be asked, or there is no room for what is written; 130, 143
or 129: it was stopped by Ctrl-C, SIGTERM or a terminal that was closed.

Rooms are imported where a command needs them, so that each starts as fast as Python allows, and what an extra brings
(`hawb.cli.extra`) is asked of those alone that use it.
"""

from __future__ import annotations

import click

from hawb import __version__
from hawb.cli import (
    clusters,
    incident,
    migrating,
    planning,
    rates,
    real_broker,
    rules,
    scenarios,
    schema,
    spark,
    upgrade,
    workbook,
)  # fmt: skip
from hawb.cli.destinations import looked_at_first
from hawb.cli.extra import asked_first
from hawb.cli.files import Refusing

SECTIONS = {
    "Understand": (scenarios.run, scenarios.check, workbook.lab, workbook.lessons, rules.rule),
    "Your cluster": (
        clusters.import_command, planning.safe, planning.lint, migrating.replicas, upgrade.upgrade, migrating.migrate,
        clusters.watch, incident.incident, rates.rates,
    ),
    "At scale": (spark.study, spark.audit, planning.explore),
    "For developers": (real_broker.compare, real_broker.record, real_broker.fuzz, schema.schema),
}  # fmt: skip
"""The commands under the headings of `hawb --help`, in its order."""


class Sections(Refusing):
    """Lists the commands under the headings of `SECTIONS`."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each section with the first sentence of each command's help."""
        width = max(map(len, self.commands))
        for heading, commands in SECTIONS.items():
            with formatter.section(heading):
                limit = formatter.width - formatter.current_indent - width - 2
                formatter.write_dl(
                    [(command.name.ljust(width), command.get_short_help_str(limit)) for command in commands]
                )


@click.group(cls=Sections, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="hawb")
def main() -> None:
    """Simulate RabbitMQ's replicated queues: what is lost when a node goes, and why."""


for commands in SECTIONS.values():
    for command in commands:
        main.add_command(asked_first(looked_at_first(command)))
