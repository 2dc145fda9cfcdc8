"""The command `hawb`. Exit status 0: done; 1: `check`, `compare` or `fuzz` found a difference, `lint` an error, `safe`
that a node is not safe to stop, `migrate` a queue that cannot be moved, `explore` a story, or `upgrade` no plan without
loss; 2: the input was refused, a running cluster could not be asked, or there is no room for what is written.

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
from hawb.cli.extra import asked_first
from hawb.cli.files import Refusing

COMMANDS = (
    scenarios.run, scenarios.check, rules.rule,
    planning.safe, planning.explore, planning.lint, upgrade.upgrade,
    migrating.migrate, migrating.replicas,
    clusters.import_command, clusters.watch, incident.incident, rates.rates,
    real_broker.compare, real_broker.record, real_broker.fuzz,
    spark.study, spark.audit, schema.schema,
    workbook.lab, workbook.lessons,
)  # fmt: skip


@click.group(cls=Refusing, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="hawb")
def main() -> None:
    """Simulate RabbitMQ's replicated queues: what is lost when a node goes, and why."""


for command in COMMANDS:
    main.add_command(asked_first(command))
