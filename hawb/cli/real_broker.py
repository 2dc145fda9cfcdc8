"""The commands that drive a real cluster: `hawb compare`, `hawb record`, `hawb fuzz` and `hawb run --on broker`."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

import click

from hawb import process
from hawb.cli.files import Destination, Source, read, refuse, verdict
from hawb.scenario.document import Uncompared
from hawb.scenario.load import load_known
from hawb.scenario.refused import ScenarioRefused
from hawb.scenario.saving import Kind
from hawb.views.formatting import shown

if TYPE_CHECKING:
    from hawb.broker.cluster import Bench
    from hawb.broker.node_logs import LogLine
    from hawb.broker.recordings import Take
    from hawb.conformance.fuzz import Campaign
    from hawb.scenario.document import Scenario

KNOWN = "data/known-differences.yaml"
RECORDED = "data/recorded"

asking_broker = click.option(
    "--broker",
    type=click.Choice(["3.8", "3.10", "4.0", "4.3"]),
    help="The release of the real broker.  [default: the scenario's release if available, else 3.10]",
)


@click.command()
@click.argument("files", type=Source(), nargs=-1, required=True)
@asking_broker
@click.option(
    "--known", type=Source(), default=KNOWN, show_default=True, help="The file of known differences."
)
def compare(files: tuple[Path, ...], broker: str | None, known: Path) -> None:
    """Compare hawb's model with a real RabbitMQ on scenario FILES.

    The model uses the rules of the broker's release. hawb lists, but does not compare, the known differences and the
    fields that the scenario declares as racy, which differ from run to run.
    """
    from hawb.broker import real

    differing = load_known(known) if known.exists() else {}
    try:
        with real.bench() as bench:
            statuses = [compare_one(real, bench, file, broker, differing.get(file.stem)) for file in files]
    except real.CannotPlay as reason:
        raise SystemExit(refuse(reason)) from None
    raise SystemExit(max(statuses))


def compare_one(real: ModuleType, bench: Bench, file: Path, version: str | None, known: Uncompared | None) -> int:
    """Compare one file and print its line; return the exit status."""
    from hawb.conformance.compare import compare as differences

    try:
        scenario = read(file)
        played = real.play(bench, scenario, version or real.broker_for(scenario))
        found = differences(played, known)
    except real.CannotPlay as reason:
        return refuse(f"{file}: {reason}")
    except ScenarioRefused as refused:
        return refuse(refused)
    status = verdict(file, played.scenario.scenario, found)
    for why, part in (("racy", played.scenario.racy), ("known to differ", known)):
        if part:
            click.echo(f"         not compared, {why}: {', '.join(part.fields)} ({part.reason})")
    return status


@click.command()
@click.argument("files", type=Source(), nargs=-1, required=True)
@asking_broker
@click.option(
    "--to", type=Destination(Kind.FOLDER), default=RECORDED, show_default=True, help="The folder for the recordings."
)
@click.option("--takes", type=click.IntRange(1, 100), default=1, show_default=True,
              help="How often to play each scenario. If the outcomes differ, the scenario has a race.")  # fmt: skip
@click.option("--log", is_flag=True, help="Also keep the nodes' logs, in a file with the name of the recording.")
@click.option("--logs", type=Destination(Kind.FOLDER), metavar="DIR",
              help="Instead of a recording, write the complete logs, the outcome, and exports (one before the first"
                   " fault, one at the end) to DIR/RELEASE/NAME.")  # fmt: skip
def record(files: tuple[Path, ...], broker: str | None, to: Path, takes: int, log: bool, logs: Path | None) -> None:
    """Play scenario FILES on a real RabbitMQ and keep the outcome.

    hawb also keeps the nodes' logs if you give --log, or if the earlier recording of the scenario has logs.
    """
    from hawb.broker import real

    if logs and (log or takes > 1):
        raise SystemExit(refuse("--logs keeps one run instead of a recording: do not combine it with --log or"
                                " --takes"))  # fmt: skip
    try:
        with real.bench() as bench:
            keeping = stories(real, bench, logs) if logs else recordings_in(real, bench, to, takes, log)
            statuses = [record_one(real, file, broker, keeping) for file in files]
    except real.CannotPlay as reason:
        raise SystemExit(refuse(reason)) from None
    raise SystemExit(max(statuses))


class Keeping(NamedTuple):
    """What to keep of a scenario: its name in messages, its path, and the function that plays and writes it.

    The path depends on the scenario's file and the broker's release.
    """

    what: str
    place: Callable[[Path, str], Path]
    keep: Callable[[Scenario, str, Path], None]


def record_one(real: ModuleType, file: Path, version: str | None, keeping: Keeping) -> int:
    """Play one scenario on a real cluster, store its outcome and print one line; return the exit status."""
    began = time.monotonic()
    try:
        scenario = read(file)
        version = version or real.broker_for(scenario)
        kept = keeping.place(file, version)
        keeping.keep(scenario, version, kept)
    except real.CannotPlay as reason:
        return refuse(f"{file}: {reason}")
    except ScenarioRefused as refused:
        return refuse(refused)
    except OSError as error:
        return refuse(f"{kept}: the {keeping.what} cannot be written: {error.strerror}")
    click.echo(f"{shown(kept)}: {time.monotonic() - began:.0f} s")
    return 0


def recordings_in(real: ModuleType, bench: Bench, folder: Path, takes: int, log: bool) -> Keeping:
    """Keep recordings of `takes` runs in a folder, with the nodes' logs if `log` or if logs were kept before."""
    from hawb.broker import node_logs, recordings

    def keep(scenario: Scenario, version: str, kept: Path) -> None:
        def take() -> Take:
            began = time.monotonic()
            played = real.play(bench, scenario, version, logged=logged)
            logs.append(played.log)
            return recordings.as_take(played, time.monotonic() - began)

        logs: list[Sequence[LogLine]] = []
        logged = log or kept.with_suffix(".log").exists()
        taken = [take() for _ in range(takes)]
        recordings.save(recordings.recorded(scenario, version, kept.stem, taken), kept)
        if logged:
            node_logs.save(logs[0], recordings.digest(scenario), kept.with_suffix(".log"))

    return Keeping("recording", lambda file, version: folder / version / f"{file.stem}.json", keep)


def stories(real: ModuleType, bench: Bench, folder: Path) -> Keeping:
    """Keep complete logs, exports and outcomes in a folder."""
    from hawb.broker import kept_stories
    from hawb.broker.witness import Witness

    def keep(scenario: Scenario, version: str, kept: Path) -> None:
        witness = Witness()
        played = real.play(bench, scenario, version, witness=witness)
        kept_stories.save(kept, kept.name, played, witness)

    return Keeping("story", lambda file, version: folder / version / kept_stories.name_of(file), keep)


@click.command()
@click.option(
    "--count",
    type=click.IntRange(1, 10_000),
    help="How many scenarios to play.  [default: 200; 10 with --wide; 1 with --soak]",
)
@click.option(
    "--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True, help="The seed of the scenarios."
)
@click.option(
    "--out",
    type=Destination(Kind.FOLDER),
    default="build/fuzz",
    show_default=True,
    help="The folder for the results.",
)
@click.option("--on", type=click.Choice(["broker", "model"]), default="broker", show_default=True,
              help="Compare the model with a real cluster, or with itself under another seed.")  # fmt: skip
@asking_broker
@click.option("--replays", type=click.IntRange(0), default=20, show_default=True,
              help="How many times to replay a scenario that differs, to shrink it; 0: do not shrink it.")  # fmt: skip
@click.option("--wide", is_flag=True,
              help="Give each scenario faults, and fifty queues with different settings.")  # fmt: skip
@click.option("--soak", is_flag=True,
              help="Make each scenario six hours of operations and faults; compare after each step.")  # fmt: skip
@click.option(
    "--keep",
    type=Destination(Kind.FOLDER),
    help="With --wide: write to this folder how often each pair of settings was played, and how often model and broker"
    " agreed.",
)
def fuzz(
    count: int | None, seed: int, out: Path, on: str, broker: str | None, replays: int, wide: bool, soak: bool,
    keep: Path | None,
) -> None:  # fmt: skip
    """Compare hawb's model with a real RabbitMQ on random scenarios.

    If the outcomes of a scenario differ, hawb shrinks it to the shortest scenario whose outcomes still differ.

    hawb keeps the results and the shrunk scenarios in the folder given with --out. To continue an interrupted run, give
    the same folder again. The report says what was covered, and in how many scenarios model and broker agreed.

    With --wide, ten scenarios cover every combination of three queue settings. If a queue differs, hawb plays it alone
    before it shrinks the scenario. With --soak, hawb shortens the times on the real cluster in which nothing happens.
    """
    if wide and soak:
        raise SystemExit(refuse("--wide and --soak exclude each other: give only one"))
    from hawb.broker import real
    from hawb.conformance import fuzz as room

    kind, report = room.SOAK if soak else room.AS_A_WHOLE, room.report
    if wide:
        from hawb.conformance import wide_campaigns

        kind, report = wide_campaigns.WIDE, wide_campaigns.report
    count = count or (10 if wide else 1 if soak else 200)

    version = broker or real.VERSION
    try:
        with real.bench() if on == "broker" else contextlib.nullcontext() as bench:
            play, seeds = room.by_another_seed, 0
            if bench is not None:
                play, seeds = partial(real.play, bench, version=version), room.SEEDS
            campaign = room.Campaign(out, play, f"{on} {version}", version, seed, count, seeds, kind)
            play_campaign(campaign, replays)
    except (real.CannotPlay, room.ResultsRefused) as reason:
        raise SystemExit(refuse(reason)) from None
    except OSError as error:
        raise SystemExit(refuse(f"{out}: results cannot be kept: {error.strerror}")) from None
    click.echo(report(campaign))
    if wide and keep is not None:
        keep_counts(campaign, keep)
    raise SystemExit(1 if "differs" in {result.verdict for result in campaign.results.values()} else 0)


def keep_counts(campaign: Campaign, folder: Path) -> None:
    """Write to a folder how often each pair of settings was played and agreed, and its path to standard error."""
    from hawb.conformance import kept_campaigns

    try:
        click.echo(f"{shown(kept_campaigns.save(campaign, folder))}: kept", err=True)
    except OSError as error:
        raise SystemExit(refuse(f"{folder}: counts cannot be kept: {error.strerror}")) from None


def play_campaign(campaign: Campaign, replays: int) -> None:
    """Play the scenarios left in a campaign, shrink those that differ, and show progress in the terminal."""
    process.note_when_stopped(process.GOES_ON)
    began, left = time.monotonic(), campaign.left

    def rate(done: int | None) -> str:
        return f"{60 * done / (time.monotonic() - began):.1f} a minute" if done else ""

    with click.progressbar(length=len(left), label="Scenarios", show_pos=True, item_show_func=rate) as bar:
        campaign.compare_again()
        for n, part in campaign.unshrunk if replays else ():
            campaign.shrink(n, replays, part)
        for done, n in enumerate(left, 1):
            differing = campaign.play(n).differing
            for part in differing if replays else ():
                campaign.shrink(n, replays, part)
            bar.update(1, done)


def run_on_broker(file: Path, version: str | None) -> None:
    """Play a scenario on a real cluster and print the outcome as JSON."""
    from hawb.broker import real

    scenario = read(file)
    try:
        with real.bench() as bench:
            played = real.play(bench, scenario, version or real.broker_for(scenario))
            click.echo(json.dumps(played.outcome, sort_keys=True))
    except real.CannotPlay as reason:
        raise SystemExit(refuse(f"{file}: {reason}")) from None
