"""The commands for a scenario on the model: `hawb run` and `hawb check`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hawb import languages
from hawb.cli.files import Source, play, refuse, verdict
from hawb.cli.formats import CI_FORMS, of_formats
from hawb.cli.language import in_a_language
from hawb.cli.pages import of_pages, write_page
from hawb.cli.real_broker import asking_broker, run_on_broker
from hawb.scenario.refused import ScenarioRefused

if TYPE_CHECKING:
    from hawb.scenario.document import Scenario
    from hawb.scenario.run import Run


@click.command()
@click.argument("file", type=Source())
@of_pages
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as one JSON object.")
@click.option(
    "--on", type=click.Choice(["model", "broker"]), default="model", show_default=True,
    help="Play the scenario on hawb's model or on a real RabbitMQ.",
)
@asking_broker
@in_a_language
def run(file: Path, page: Path | None, as_json: bool, on: str, broker: str | None, language: str) -> None:
    """Play a scenario FILE (- for standard input) and show its outcome.

    With --on broker, a real RabbitMQ cluster plays the scenario. This needs root, because each node runs in its own
    network namespace. The outcome is then always JSON. It lacks the keys that a real broker does not report, and lists
    the names of these keys.

    --broker names the release of the real broker. hawb uses the rabbitmq-server of this machine if it has that
    release. Otherwise hawb uses debootstrap to install the release below ~/.cache/hawb, once.

    --language does not change the JSON output.

    Exit status: 0, the scenario was played, whatever its outcome; 2, the scenario is refused.
    """
    if on == "broker":
        if page is not None:
            raise click.UsageError("-o needs --on model: a real broker's outcome is always JSON")
        run_on_broker(file, broker)
        return
    if broker:
        raise click.UsageError("--broker needs --on broker")
    scenario, played = play(file)
    with languages.language(language):
        answer(scenario, played, page, as_json)


def answer(scenario: Scenario, played: Run, page: Path | None, as_json: bool) -> None:
    """Print the outcome of a scenario, and write its page if one is asked for."""
    from hawb.scenario.outcome import outcome, outcome_json

    if as_json:
        click.echo(outcome_json(played))
        if page is None:
            return
    from hawb.planning.advised import advised

    played_outcome = outcome(played)
    advice = advised(played, played_outcome)
    if page is not None:
        from hawb.scenario.dump import dump
        from hawb.views.story import report

        write_page(page, report.page(played_outcome, dump(scenario), advice))
    if not as_json:
        from hawb.views.story import run_report
        from hawb.views.terminal import terminal

        click.echo(run_report.report(played_outcome, *terminal(), advice))


@click.command()
@click.argument("files", type=Source(), nargs=-1, required=True)
@of_formats("text", *CI_FORMS, help_text="sarif, junit: for CI systems that show findings beside the lines of a file.")
def check(files: tuple[Path, ...], form: str) -> None:
    """Compare the outcomes of scenario FILES with what they expect.

    Print a line for each file, followed by the differences.

    Exit status: 0, every file has the outcome that it expects; 1, at least one file does not; 2, a file is refused.
    """
    if form in CI_FORMS:
        raise SystemExit(check_for_ci(files, form))
    raise SystemExit(max(check_one(file) for file in files))


def check_one(file: Path) -> int:
    """Check one file and print its line; return the exit status."""
    from hawb.scenario.expect import check as differences

    try:
        scenario, played = play(file)
    except ScenarioRefused as refused:
        return refuse(refused)
    return verdict(file, scenario.scenario, differences(played, scenario.expect))


def check_for_ci(files: Sequence[Path], form: str) -> int:
    """Check files and print the results as SARIF or JUnit XML; return the exit status."""
    from hawb.scenario.expect import check as differences
    from hawb.views.issues import Suite
    from hawb.views.junit import junit
    from hawb.views.sarif import sarif
    from hawb.views.story import checked as view

    found = []
    for file in files:
        try:
            scenario, played = play(file)
            found.append(view.Checked(file, scenario.scenario, differences(played, scenario.expect)))
        except ScenarioRefused as refused:
            found.append(view.Checked(file, refused=refused))
    if form == "sarif":
        click.echo(sarif(view.RULES, [issue for one in found for issue in view.issues(one)]))
    else:
        click.echo(junit([Suite("hawb check", [*map(view.case, found)])]))
    return max(one.exit_status for one in found)
