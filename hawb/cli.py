"""The command `hawb`. Exit status 0: done; 1: `check` or `compare` found a difference; 2: input was refused.

Heavy rooms are imported where a command needs them, so that `hawb run` starts as fast as Python allows.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import click

from hawb import __version__
from hawb.scenario.document import Scenario
from hawb.scenario.load import ScenarioRefused, load
from hawb.scenario.run import Run
from hawb.scenario.saving import write

if TYPE_CHECKING:
    from hawb.broker.cluster import Bench

STDIN = "-"


def refusing(command: Callable) -> Callable:
    """Lets a command end with a message on standard error and exit status 2 when its input is refused."""

    @wraps(command)
    def guarded(*args, **kwargs):
        try:
            return command(*args, **kwargs)
        except ScenarioRefused as refused:
            raise SystemExit(refuse(refused)) from None

    return guarded


def refuse(reason: object) -> int:
    """Writes why input is refused; the exit status for it."""
    click.echo(str(reason), err=True)
    return 2


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="hawb")
def main() -> None:
    """Simulate RabbitMQ's replicated queues: what is lost when a node goes, and why."""


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="The outcome as one JSON object.")
@click.option("--on", type=click.Choice(["model", "broker"]), default="model", show_default=True, help="What plays it.")
@refusing
def run(file: Path, as_json: bool, on: str) -> None:
    """Play a scenario FILE (- for standard input) and show its outcome.

    With --on broker a real RabbitMQ cluster plays it: this machine's own rabbitmq-server, in network namespaces of its
    own, which takes root. Its outcome is always JSON; what no broker tells is left out and listed.
    """
    if on == "broker":
        run_on_broker(file)
        return
    played = play(file)[1]
    if as_json:
        from hawb.scenario.outcome import outcome_json

        click.echo(outcome_json(played))
    else:
        from hawb.scenario.outcome import outcome
        from hawb.views.listing import report

        click.echo(report(outcome(played)))


def run_on_broker(file: Path) -> None:
    """Plays a scenario on a real cluster and prints the outcome as JSON."""
    real = broker_room()
    scenario = read(file)
    try:
        with real.bench() as bench:
            click.echo(json.dumps(real.play(bench, scenario).outcome, sort_keys=True))
    except real.CannotPlay as reason:
        raise SystemExit(refuse(f"{file}: {reason}")) from None


@main.command()
@click.argument("files", type=click.Path(path_type=Path), nargs=-1, required=True)
def compare(files: tuple[Path, ...]) -> None:
    """Play scenario FILES on the model and on a real RabbitMQ cluster and print what differs, field by field."""
    real = broker_room()
    try:
        with real.bench() as bench:
            statuses = [compare_one(real, bench, file) for file in files]
    except real.CannotPlay as reason:
        raise SystemExit(refuse(reason)) from None
    raise SystemExit(max(statuses))


def compare_one(real: ModuleType, bench: Bench, file: Path) -> int:
    """Compares one file and prints its line; the exit status for it."""
    from hawb.broker.compare import compare as differences

    try:
        played = real.play(bench, read(file))
        found = differences(played)
    except real.CannotPlay as reason:
        return refuse(f"{file}: {reason}")
    except ScenarioRefused as refused:
        return refuse(refused)
    click.echo(f"{'differs' if found else 'ok     '}  {file}: {played.scenario.scenario}")
    for difference in found:
        click.echo(f"         {difference}")
    return 1 if found else 0


def broker_room() -> ModuleType:
    """The module that plays scenarios on a real cluster; ends the program where its client library is missing."""
    try:
        from hawb.broker import real
    except ModuleNotFoundError as missing:
        reason = f"a real broker takes hawb's extra `broker`, which is not installed: {missing.name} is missing"
        raise SystemExit(refuse(reason)) from None
    return real


@main.command()
@click.argument("files", type=click.Path(path_type=Path), nargs=-1, required=True)
def check(files: tuple[Path, ...]) -> None:
    """Play scenario FILES and compare what they expect with what happens; a line for each."""
    raise SystemExit(max(check_one(file) for file in files))


def check_one(file: Path) -> int:
    """Checks one file and prints its line; the exit status for it."""
    from hawb.scenario.expect import check as differences

    try:
        scenario, played = play(file)
    except ScenarioRefused as refused:
        return refuse(refused)
    found = differences(played, scenario.expect)
    click.echo(f"{'differs' if found else 'ok     '}  {file}: {scenario.scenario}")
    for difference in found:
        click.echo(f"         {difference}")
    return 1 if found else 0


def read(file: Path) -> Scenario:
    """A scenario file, or standard input. Raises ScenarioRefused, which names the file."""
    return load(sys.stdin.buffer.read(), "standard input") if str(file) == STDIN else load(file)


def play(file: Path) -> tuple[Scenario, Run]:
    """A scenario file and its run. Raises ScenarioRefused, which names the file."""
    scenario = read(file)
    try:
        return scenario, Run.of(scenario)
    except ScenarioRefused as refused:
        refused.file = str(file)
        raise


@main.command(name="import")
@click.argument("definitions")
@click.option("--queues", "listings", multiple=True, metavar="FILE", help="A listing of queues or nodes; repeatable.")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The scenario to write, or -.")
def import_command(definitions: str, listings: tuple[str, ...], output: Path) -> None:
    """Turn a cluster's exported DEFINITIONS, and listings of its queues, into a scenario.

    A file may be written VHOST=FILE where it does not say which virtual host it is about. What the files do not tell,
    and what a scenario cannot carry, is listed on standard error.
    """
    from hawb.broker.imported import import_cluster
    from hawb.broker.untrusted import ImportRefused
    from hawb.scenario.dump import dump
    from hawb.scenario.load import read_scenario

    try:
        imported = import_cluster(definitions, listings)
        text = dump(read_scenario(imported.scenario))
    except (ImportRefused, ScenarioRefused) as refused:
        raise SystemExit(refuse(refused)) from None
    write_scenario(output, text)
    for note in imported.notes:
        click.echo(f"note: {note}", err=True)


def write_scenario(output: Path, text: str) -> None:
    """Writes a scenario to a file, or to standard output."""
    if str(output) == STDIN:
        click.echo(text, nl=False)
        return
    try:
        write(output, text)
    except OSError as error:
        raise SystemExit(refuse(f"{output}: the file cannot be written: {error.strerror}")) from None


if __name__ == "__main__":
    main()
