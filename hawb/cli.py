"""The command `hawb`. Exit status 0: done; 1: `check`, `compare` or `fuzz` found a difference, `lint` an error, or
`safe` that a node is not safe to stop; 2: the input was refused.

Heavy rooms are imported where a command needs them, so that `hawb run` starts as fast as Python allows.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import click

from hawb import __version__, spark_commands
from hawb.refusing import refuse, refusing
from hawb.scenario.document import Scenario, Uncompared
from hawb.scenario.load import ScenarioRefused, load, load_known
from hawb.scenario.run import Run
from hawb.scenario.saving import write

if TYPE_CHECKING:
    from hawb.broker.cluster import Bench
    from hawb.broker.fuzz import Campaign
    from hawb.broker.imported import Imported
    from hawb.broker.recordings import Take
    from hawb.planning.inventory import Inventory

STDIN = "-"
KNOWN = "data/known-differences.yaml"
RECORDED = "data/recorded"


asking_broker = click.option(
    "--broker",
    type=click.Choice(["3.8", "3.10", "4.0"]),
    help="The version of the real broker; the scenario's own where there is such a broker, else 3.10.",
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="hawb")
def main() -> None:
    """Simulate RabbitMQ's replicated queues: what is lost when a node goes, and why."""


main.add_command(spark_commands.audit)
main.add_command(spark_commands.study)


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="The outcome as one JSON object.")
@click.option("--on", type=click.Choice(["model", "broker"]), default="model", show_default=True, help="What plays it.")
@asking_broker
@refusing
def run(file: Path, as_json: bool, on: str, broker: str | None) -> None:
    """Play a scenario FILE (- for standard input) and show its outcome.

    With --on broker a real RabbitMQ cluster plays it, in network namespaces of its own, which takes root: this
    machine's own rabbitmq-server, or another release, which debootstrap installs below ~/.cache/hawb at its first use.
    Its outcome is always JSON; what no broker tells is left out and listed.
    """
    if on == "broker":
        run_on_broker(file, broker)
        return
    if broker:
        raise click.UsageError("--broker goes with --on broker")
    played = play(file)[1]
    if as_json:
        from hawb.scenario.outcome import outcome_json

        click.echo(outcome_json(played))
    else:
        from hawb.scenario.outcome import outcome
        from hawb.views.listing import report

        click.echo(report(outcome(played)))


def run_on_broker(file: Path, version: str | None) -> None:
    """Plays a scenario on a real cluster and prints the outcome as JSON."""
    real = broker_room()
    scenario = read(file)
    try:
        with real.bench() as bench:
            played = real.play(bench, scenario, version or real.broker_for(scenario))
            click.echo(json.dumps(played.outcome, sort_keys=True))
    except real.CannotPlay as reason:
        raise SystemExit(refuse(f"{file}: {reason}")) from None


@main.command()
@click.argument("files", type=click.Path(path_type=Path), nargs=-1, required=True)
@asking_broker
@click.option(
    "--known", type=click.Path(path_type=Path), default=KNOWN, show_default=True, help="What is known to differ."
)
@refusing
def compare(files: tuple[Path, ...], broker: str | None, known: Path) -> None:
    """Play scenario FILES on the model and on a real RabbitMQ cluster and print what differs, field by field.

    The model plays them by the rules of the version that the broker has. Fields that are racy, as the scenario says,
    or known to differ are left out and listed.
    """
    real = broker_room()
    differing = load_known(known) if known.exists() else {}
    try:
        with real.bench() as bench:
            statuses = [compare_one(real, bench, file, broker, differing.get(file.stem)) for file in files]
    except real.CannotPlay as reason:
        raise SystemExit(refuse(reason)) from None
    raise SystemExit(max(statuses))


def compare_one(real: ModuleType, bench: Bench, file: Path, version: str | None, known: Uncompared | None) -> int:
    """Compares one file and prints its line; the exit status for it."""
    from hawb.broker.compare import compare as differences

    try:
        scenario = read(file)
        played = real.play(bench, scenario, version or real.broker_for(scenario))
        found = differences(played, known)
    except real.CannotPlay as reason:
        return refuse(f"{file}: {reason}")
    except ScenarioRefused as refused:
        return refuse(refused)
    click.echo(f"{'differs' if found else 'ok     '}  {file}: {played.scenario.scenario}")
    for difference in found:
        click.echo(f"         {difference}")
    for why, part in (("racy", played.scenario.racy), ("known to differ", known)):
        if part:
            click.echo(f"         not compared, {why}: {', '.join(part.fields)} ({part.reason})")
    return 1 if found else 0


@main.command()
@click.argument("files", type=click.Path(path_type=Path), nargs=-1, required=True)
@asking_broker
@click.option(
    "--to", type=click.Path(path_type=Path), default=RECORDED, show_default=True, help="The folder of recordings."
)
@click.option("--takes", type=click.IntRange(1, 100), default=1, show_default=True,
              help="How often each is played; what is racy shows in takes that differ.")  # fmt: skip
def record(files: tuple[Path, ...], broker: str | None, to: Path, takes: int) -> None:
    """Play scenario FILES on a real RabbitMQ cluster and keep what happened, a JSON file for each."""
    real = broker_room()
    try:
        with real.bench() as bench:
            statuses = [record_one(real, bench, file, broker, to, takes) for file in files]
    except real.CannotPlay as reason:
        raise SystemExit(refuse(reason)) from None
    raise SystemExit(max(statuses))


def record_one(real: ModuleType, bench: Bench, file: Path, version: str | None, to: Path, takes: int) -> int:
    """Records one file and prints its line; the exit status for it."""
    from hawb.broker import recordings

    def take() -> Take:
        began = time.monotonic()
        return recordings.take(real.play(bench, scenario, version), time.monotonic() - began)

    try:
        scenario = read(file)
        version = version or real.broker_for(scenario)
        kept = to / version / f"{file.stem}.json"
        taken = [take() for _ in range(takes)]
        recordings.save(recordings.recorded(scenario, version, file.stem, taken), kept)
    except real.CannotPlay as reason:
        return refuse(f"{file}: {reason}")
    except ScenarioRefused as refused:
        return refuse(refused)
    except OSError as error:
        return refuse(f"{kept}: the recording cannot be written: {error.strerror}")
    click.echo(f"{kept}: {sum(take.seconds for take in taken)} s")
    return 0


def broker_room() -> ModuleType:
    """The module that plays scenarios on a real cluster; ends the program where its client library is missing."""
    try:
        from hawb.broker import real
    except ModuleNotFoundError as missing:
        reason = f"a real broker takes hawb's extra `broker`, which is not installed: {missing.name} is missing"
        raise SystemExit(refuse(reason)) from None
    return real


@main.command()
@click.option("--count", type=click.IntRange(1, 10_000), default=200, show_default=True, help="How many scenarios.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True, help="Which ones.")
@click.option(
    "--out", type=click.Path(path_type=Path), default="build/fuzz", show_default=True, help="Where results are kept."
)
@click.option("--on", type=click.Choice(["broker", "model"]), default="broker", show_default=True,
              help="What plays beside the model: a real cluster, or the model itself by another seed.")  # fmt: skip
@asking_broker
@click.option("--replays", type=click.IntRange(0), default=20, show_default=True,
              help="How often what differs is played again to find the shortest that does; 0: not at all.")  # fmt: skip
def fuzz(count: int, seed: int, out: Path, on: str, broker: str | None, replays: int) -> None:
    """Play random scenarios on the model and on a real RabbitMQ cluster, and shrink those that differ.

    Results and shrunk files are kept in --out, where a run that was interrupted goes on. At the end comes what was
    covered and how many agreed.
    """
    real = broker_room()
    from hawb.broker import fuzz as room

    version = broker or real.VERSION
    try:
        with real.bench() if on == "broker" else contextlib.nullcontext() as bench:
            play, seeds = room.by_another_seed, 0
            if bench is not None:
                play, seeds = partial(real.play, bench, version=version), room.SEEDS
            campaign = room.Campaign(out, play, f"{on} {version}", version, seed, count, seeds)
            play_campaign(campaign, replays)
    except (real.CannotPlay, room.ResultsRefused) as reason:
        raise SystemExit(refuse(reason)) from None
    except OSError as error:
        raise SystemExit(refuse(f"{out}: results cannot be kept: {error.strerror}")) from None
    click.echo(room.report(campaign))
    raise SystemExit(1 if "differs" in {result.verdict for result in campaign.results.values()} else 0)


def play_campaign(campaign: Campaign, replays: int) -> None:
    """Plays what is left of a campaign and shrinks what differs, with its progress in the terminal."""
    began, left = time.monotonic(), campaign.left

    def rate(done: int | None) -> str:
        return f"{60 * done / (time.monotonic() - began):.1f} a minute" if done else ""

    with click.progressbar(length=len(left), label="Scenarios", show_pos=True, item_show_func=rate) as bar:
        for n in campaign.unshrunk if replays else ():
            campaign.shrink(n, replays)
        for done, n in enumerate(left, 1):
            if campaign.play(n).verdict == "differs" and replays:
                campaign.shrink(n, replays)
            bar.update(1, done)


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


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--node", metavar="NAME", help="This node alone; exit status 1 if a controlled stop of it would hurt.")
@click.option("--json", "as_json", is_flag=True, help="The forecasts as JSON.")
@refusing
def safe(file: Path, node: str | None, as_json: bool) -> None:
    """Is it safe to stop a node where a scenario FILE ends?

    For each node that runs there: what a controlled stop and a kill would do to each queue, and what RabbitMQ's own
    checks say.
    """
    from msgspec import to_builtins

    from hawb.planning.safe_to_stop import safe_to_stop
    from hawb.views.forecast import text

    played = play(file)[1]
    forecasts = safe_to_stop(played, None if node is None else [node])
    if not forecasts:
        running = [played.settings.names[index] for index in played.moment().state.running()]
        given = "no node runs there" if node is None else f"--node: '{node}' is none of the nodes that run there"
        raise SystemExit(refuse(f"{file}: {given}, which are {', '.join(running)}" if running else f"{file}: {given}"))
    click.echo(json.dumps(to_builtins(forecasts), sort_keys=True) if as_json else text(forecasts))
    raise SystemExit(1 if node is not None and forecasts[0].hurt("stop") else 0)


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

    try:
        write_imported(output, import_cluster(definitions, listings))
    except (ImportRefused, ScenarioRefused) as refused:
        raise SystemExit(refuse(refused)) from None


@main.command()
@click.argument("files", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="A JSON array with an object for each cluster.")
@click.option("--network-mb-s", type=click.FloatRange(min=0.001), metavar="RATE",
              help="What a link carries, in megabytes a second; 100, or what the scenario says.")  # fmt: skip
@refusing
def lint(files: tuple[str, ...], as_json: bool, network_mb_s: float | None) -> None:
    """Say which policy applies to each queue, which it silences, and what is wrong with either.

    FILES are scenarios (.yaml, each a cluster as it stands at its end), or a definitions export and listings of its
    cluster. Exit status 1: there is an error among the findings.
    """
    from hawb.broker.untrusted import ImportRefused
    from hawb.planning.lint import lint as look
    from hawb.views import findings

    try:
        reports = {name: look(inventory) for name, inventory in inventories(files, network_mb_s)}
    except ImportRefused as refused:
        raise SystemExit(refuse(refused)) from None
    if as_json:
        told = [{"cluster": name, **findings.plain(found)} for name, found in reports.items()]
        click.echo(json.dumps(told, indent=1))
    else:
        heads = [f"{name}: " if len(reports) > 1 else "" for name in reports]
        texts = [head + findings.report(found) for head, found in zip(heads, reports.values(), strict=True)]
        click.echo("\n\n".join(texts))
    errors = any(finding.severity == "error" for found in reports.values() for finding in found.findings)
    raise SystemExit(1 if errors else 0)


def inventories(files: tuple[str, ...], network_mb_s: float | None) -> Iterator[tuple[str, Inventory]]:
    """(name, cluster) of each scenario, and of all other files together. Raises ScenarioRefused, ImportRefused."""
    from hawb.planning import inventory

    scenarios = [file for file in files if file == STDIN or file.endswith((".yaml", ".yml"))]
    exports = [file for file in files if file not in scenarios]
    found = [(file, inventory.of_run(play(Path(file))[1])) for file in scenarios]
    if exports:
        found.append((exports[0], inventory.of_files(exports)))
    for name, cluster in found:
        if network_mb_s is not None:
            cluster.network_bytes_per_s = round(network_mb_s * 1_000_000)
        for note in cluster.notes:
            click.echo(f"note: {note}", err=True)
        yield name, cluster


@main.command()
@click.option("--api", required=True, metavar="URL", help="Where its management listens, as http://HOST:15672.")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The scenario to write, or -.")
def watch(api: str, output: Path) -> None:
    """Turn a running cluster, as it stands now, into a scenario.

    Policies, queues and nodes are read over its management HTTP API; nothing is written to it. The user, for whom the
    tag `monitoring` is enough, and the password are taken from HAWB_API_USER and HAWB_API_PASSWORD or asked for, and
    kept nowhere. What a scenario cannot carry is listed on standard error.
    """
    from hawb.broker.untrusted import ImportRefused
    from hawb.broker.watch import ApiRefused, Login
    from hawb.broker.watch import watch as read_cluster

    user = os.environ.get("HAWB_API_USER") or click.prompt("user", err=True)
    password = os.environ.get("HAWB_API_PASSWORD") or click.prompt("password", hide_input=True, err=True)
    try:
        write_imported(output, read_cluster(api, Login(user, password)))
    except (ApiRefused, ImportRefused, ScenarioRefused) as refused:
        raise SystemExit(refuse(refused)) from None


def write_imported(output: Path, imported: Imported) -> None:
    """Writes an imported cluster as a scenario, and its notes to standard error. Raises ScenarioRefused."""
    from hawb.scenario.dump import dump
    from hawb.scenario.load import read_scenario

    write_scenario(output, dump(read_scenario(imported.scenario)))
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
