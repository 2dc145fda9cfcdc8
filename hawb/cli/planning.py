"""The commands that look ahead: `hawb safe`, `hawb explore` and `hawb lint`."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hawb.cli.files import (
    STDIN,
    Destination,
    Source,
    cluster_of,
    is_scenario,
    play,
    print_notes,
    refuse,
    refused_in,
    version_notes,
    write_scenario,
)
from hawb.cli.formats import CI_FORMS, TEXT, of_formats
from hawb.cli.live import live_cluster
from hawb.cli.pages import of_pages, write_page
from hawb.cli.spark import spark_session, with_settings
from hawb.planning.goals import GOALS
from hawb.planning.moves import MOVES, Spent
from hawb.process import Stopped
from hawb.scenario.dump import dump
from hawb.views.formatting import shown

if TYPE_CHECKING:
    from hawb.planning.explore import Progress
    from hawb.planning.inventory import Inventory
    from hawb.planning.lint import Report
    from hawb.planning.safe_to_stop import Outlook
    from hawb.scenario.run import Run


@click.command()
@click.argument("files", nargs=-1)
@click.option("--live", metavar="URL", help="Instead of FILES: read a running cluster over the management API at this"
              " address, such as http://HOST:15672. For user and password, see hawb watch --help.")  # fmt: skip
@click.option("--node", metavar="NAME", help="Answer for this node only.")
@of_pages
@of_formats("text", "line", "json", "prometheus", json="Print the forecasts as JSON",
            help_text="line: one line for each node (the default with --live and --node); prometheus: gauges."
            )  # fmt: skip
def safe(files: tuple[str, ...], live: str | None, node: str | None, page: Path | None, form: str) -> None:
    """Say whether a node can be stopped without harm.

    FILES are a scenario (.yaml, - for standard input), or a definitions export and listings of one cluster. For each
    running node, the answer lists what a controlled stop and a kill would do to each queue, and what RabbitMQ's own
    checks report. With --live and --node, the answer is a single line, for a hook or a script.

    Exit status, for the node that --node names, otherwise for all running nodes: 0, yes, a controlled stop is safe; 1,
    no: a stop does harm, or a queue is already unavailable; 2, the input is refused, the node does not run, or the API
    does not answer or refuses the login; 3, cannot tell: the files lack a fact that the answer depends on.
    """
    from hawb.planning.safe_to_stop import outlook
    from hawb.views.verdicts.safe import verdict

    if bool(files) == (live is not None):
        raise click.UsageError("Give either FILES or --live with an address.")
    form = form or ("line" if live is not None and node is not None else TEXT)
    where = files[0] if live is None else live
    scenario, notes, known = cluster_of(files) if live is None else live_cluster(live)
    if form != TEXT and not (live is not None and form == "line"):
        print_notes(notes)
    played, found = refused_in(where, outlook, scenario, None if node is None else [node], known)
    if node is not None and known.nodes_listed and not found.forecasts:
        raise SystemExit(refuse(no_such_node(where, node, played)))
    answer_safe(scenario.scenario if known.nodes_listed else where, found, notes, page, form, files, node or "")
    raise SystemExit(verdict(found).exit_status)


def answer_safe(
    title: str, found: Outlook, notes: Sequence[str], page: Path | None, form: str, files: Sequence[str], node: str
) -> None:
    """Write the page, if one is asked for, and print the answer in its format."""
    from hawb.views.planning import forecast_page
    from hawb.views.terminal import for_terminal
    from hawb.views.verdicts import safe as safe_verdict

    if page is not None:
        write_page(page, forecast_page.page(title, found, notes, files, node))
    if form == "json":
        from msgspec import to_builtins

        click.echo(json.dumps(to_builtins(found.forecasts), sort_keys=True))
    elif form == "prometheus":
        from hawb.views.planning.forecast import gauges
        from hawb.views.prometheus import exposition

        click.echo(exposition(gauges(found)).encode(), nl=False)
    elif form == "line":
        click.echo(safe_verdict.lines(found))
    else:
        click.echo(for_terminal(forecast_page.report_of(title, found, notes, files, node)))


def no_such_node(where: str, node: str, played: Run) -> str:
    """Return the refusal of `--node`: the file or address, the node that does not run there, and the nodes that run."""
    running = [played.settings.names[index] for index in played.moment().state.running()]
    given = f"--node: '{shown(node)}' is not a running node"
    accepted = f"; these run: {', '.join(map(shown, running))}" if running else ""
    return f"{shown(where)}: {given}{accepted}"


MOST_STATES = 1_000_000
"""The default limit of states in a search. So many states take a few hundred megabytes."""


@click.command()
@click.argument("file", type=Source())
@click.option("--for", "goal", type=click.Choice(list(GOALS)), default="lost-confirmed", show_default=True,
              help="The harm to search for.")  # fmt: skip
@click.option("--faults", type=click.IntRange(0, 9), default=1, show_default=True,
              help="The highest number of faults in the sequence. Each node that dies counts as one.")  # fmt: skip
@click.option("--operations", type=click.IntRange(0, 9), default=2, show_default=True,
              help="The highest number of other steps in the sequence: publishes, controlled stops, starts,"
              " synchronisations, healed partitions.")  # fmt: skip
@click.option(
    "--without", type=click.Choice(list(MOVES)), multiple=True, help="Leave out steps of this kind. Repeatable."
)
@click.option("--states", type=click.IntRange(min=1), default=MOST_STATES, show_default=True,
              help="End the search after this many distinct states. Without this limit, a search may never end if the"
              " scenario has timers or publishing clients.")  # fmt: skip
@click.option("--seconds", type=click.FloatRange(min=0), help="End the search after this many seconds.")
@click.option("--scenario", type=Destination(), help="Write the sequence of steps as a scenario.")
@of_pages
@click.option("--json", "as_json", is_flag=True, help="Print the answer as one JSON object.")
@click.option(
    "--master", metavar="URL", help="Run the search on the Spark cluster at this address.  [default: in this process]"
)
@with_settings
def explore(
    file: Path, goal: str, faults: int, operations: int, without: tuple[str, ...], states: int,
    seconds: float | None, scenario: Path | None, page: Path | None, as_json: bool, master: str | None,
    settings: Mapping[str, str],
) -> None:  # fmt: skip
    """Search for the shortest sequence of steps that does harm.

    The search starts from the state of the cluster at the end of the scenario FILE. The sequence that it finds is a
    scenario too: hawb prints it after the answer, or writes it to the file that --scenario names. Play it with hawb
    run, or open it in the lab.

    You can stop the search at any time, or limit it with --states or --seconds. The answer then says how far the search
    got. Standard error shows the progress: continuously in a terminal, otherwise one line every ten seconds.

    Exit status: 0, no sequence does harm; 1, a sequence does harm; 2, the scenario is refused; 3, the search ended
    before it could tell (130, 143 or 129 if a signal stopped it).
    """
    from hawb.planning.explore import Question
    from hawb.planning.explore import explore as search
    from hawb.study import local_search
    from hawb.views.planning import exploration as view
    from hawb.views.terminal import terminal

    asked = Question(goal, Spent(faults, operations), frozenset(MOVES) - set(without))
    played = play(file)[1]
    print_notes(version_notes(played.scenario))
    with contextlib.ExitStack() as stack:
        if master is None:
            progress = local_search.search(played, asked, announce_compiling)
        else:
            spark = stack.enter_context(spark_session(master, settings))
            from hawb.study.spark_search import AT_A_TIME, spread

            progress = search(played, asked, spread(spark), AT_A_TIME)
        answer = watched(progress, view.rate, states, seconds)
    if answer.story is not None and scenario is not None:
        write_scenario(scenario, dump(answer.story))
    named = ["" if one is None or str(one) == STDIN else str(one) for one in (file, scenario)]
    files = view.Files(*named)
    if page is not None:
        write_page(page, view.page(asked, answer, files))
    if as_json:
        click.echo(json.dumps(view.plain_answer(asked, answer)))
    else:
        click.echo(view.answer_text(asked, answer, scenario is None, *terminal(), files))
    raise SystemExit(view.verdict(asked, answer).exit_status)


PROGRESS_EVERY_S = 10
"""Seconds between two lines of progress without a terminal."""


def announce_compiling() -> None:
    """Write to standard error that hawb compiles the search first."""
    click.echo("\ncompiling the search; this takes up to a minute, and later searches skip it", err=True)


def watched(
    search: Iterator[Progress],
    rate: Callable[[Progress, float], str],
    states: int | None = None,
    seconds: float | None = None,
) -> Progress:
    """Follow a search to its end, a signal, or a limit of states or seconds; return its last progress.

    Show progress on standard error: in a terminal continuously, else every `PROGRESS_EVERY_S`.
    """
    began, shown_at_s, progress = time.monotonic(), 0.0, None
    terminal = sys.stderr.isatty()
    with contextlib.suppress(KeyboardInterrupt, Stopped):
        for progress in search:
            elapsed_s = time.monotonic() - began
            if terminal:
                click.echo(f"\r\x1b[K{rate(progress, elapsed_s)}", nl=False, err=True)
            elif elapsed_s - shown_at_s >= PROGRESS_EVERY_S:
                click.echo(rate(progress, elapsed_s), err=True)
                shown_at_s = elapsed_s
            if (states is not None and progress.states >= states) or (seconds is not None and elapsed_s >= seconds):
                break
    if terminal:
        click.echo(err=True)
    if progress is None:
        raise SystemExit(130)
    return progress


@click.command()
@click.argument("files", nargs=-1, required=True)
@of_pages
@of_formats("text", "json", *CI_FORMS, json="Print a JSON array with one object for each cluster",
            help_text="sarif, junit: for CI systems that show findings beside the lines of a file.")  # fmt: skip
@click.option("--network-mb-s", type=click.FloatRange(min=0.001), metavar="RATE",
              help="The bandwidth of a link between nodes, in megabytes per second.  [default: the scenario's, or"
                   " 100]")  # fmt: skip
def lint(files: tuple[str, ...], page: Path | None, form: str, network_mb_s: float | None) -> None:
    """Find mistakes in policies and queue settings.

    The report says which policy applies to each queue, and which other policies this policy overrides.

    FILES are scenarios (.yaml), or a definitions export and listings of one cluster. hawb checks a scenario in the
    state at its end.

    Exit status: 0, no error and no warning; 1, at least one error or warning; 2, a file is refused; 3, cannot tell: no
    file lists the queues or the policies.
    """
    from hawb.exports.untrusted import ImportRefused
    from hawb.planning.lint import lint as look
    from hawb.views.planning import findings
    from hawb.views.report import EXIT_STATUSES, worst
    from hawb.views.terminal import for_terminal

    try:
        clusters = dict(inventories(files, network_mb_s))
        reports = {name: look(inventory) for name, inventory in clusters.items()}
    except ImportRefused as refused:
        raise SystemExit(refuse(refused)) from None
    if page is not None:
        if len(reports) > 1:
            raise SystemExit(refuse("-o: a page shows one cluster; give only the files of one cluster"))
        [(name, found)] = reports.items()
        write_page(page, findings.page(name, found, clusters[name].notes))
    answers = [findings.report_of(name, found, clusters[name].notes) for name, found in reports.items()]
    if form in (*CI_FORMS, "json"):
        print_notes([note for cluster in clusters.values() for note in cluster.notes])
        click.echo(as_json(reports) if form == "json" else lint_for_ci(files, reports, form))
    else:
        click.echo("\n\n".join(map(for_terminal, answers)))
    raise SystemExit(EXIT_STATUSES[worst([one.verdict.answer for one in answers])])


def as_json(reports: Mapping[str, Report]) -> str:
    """Return the findings in each cluster as JSON."""
    from hawb.views.planning import findings

    return json.dumps([{"cluster": name, **findings.plain(found)} for name, found in reports.items()], indent=1)


def lint_for_ci(files: Sequence[str], reports: Mapping[str, Report], form: str) -> str:
    """Return the findings in each cluster, with their places in its files, as SARIF or JUnit XML."""
    from hawb.planning.places import places
    from hawb.views.junit import junit
    from hawb.views.planning.findings import RULES, issues, suite
    from hawb.views.sarif import sarif

    exports = [file for file in files if not is_scenario(file)]
    found = {
        name: issues(name, report, places([name] if is_scenario(name) else exports))
        for name, report in reports.items()
    }
    if form == "sarif":
        return sarif(RULES, [issue for found_issues in found.values() for issue in found_issues])
    return junit([suite(name, found_issues) for name, found_issues in found.items()])


def inventories(files: tuple[str, ...], network_mb_s: float | None) -> Iterator[tuple[str, Inventory]]:
    """Yield (name, cluster) for each scenario, then for all exports together.

    Raise ScenarioRefused or ImportRefused.
    """
    from hawb.planning import inventory

    scenarios = [*filter(is_scenario, files)]
    exports = [file for file in files if file not in scenarios]
    found = [(file, inventory.of_run(play(Path(file))[1])) for file in scenarios]
    if exports:
        found.append((exports[0], inventory.of_files(exports)))
    for name, cluster in found:
        if network_mb_s is not None:
            cluster.network_bytes_per_s = round(network_mb_s * 1_000_000)
        yield name, cluster
