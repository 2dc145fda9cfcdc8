"""How commands read a running cluster: over its management HTTP API, as a user whose password stands nowhere."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from hawb.cli.files import refuse

if TYPE_CHECKING:
    from hawb.exports.imported import Imported, Live
    from hawb.scenario.document import Scenario

USER, PASSWORD = "HAWB_API_USER", "HAWB_API_PASSWORD"


def read_live(url: str) -> Imported:
    """A running cluster as a scenario's document, with notes on what that lacks. Ends the program, with what was given
    and what is accepted, where nobody answers or the answer cannot be used."""
    from hawb.exports.untrusted import ImportRefused
    from hawb.exports.watch import ApiRefused, Login, checked, watch

    try:
        checked(url)
        return watch(url, Login(_told(USER), _told(PASSWORD, hidden=True)))
    except (ApiRefused, ImportRefused) as refused:
        raise SystemExit(refuse(refused)) from None


def live_cluster(url: str) -> tuple[Scenario, Sequence[str], Live]:
    """The scenario of a running cluster, notes on what it lacks, and what the API tells beside it. Raises
    ScenarioRefused; ends the program as `read_live` does."""
    from hawb.scenario.load import read_scenario

    imported = read_live(url)
    return read_scenario(imported.scenario), imported.notes, imported.live


def _told(variable: str, hidden: bool = False) -> str:
    """A word of the login, from the environment or asked for: an argument could be read by everybody on the machine."""
    if told := os.environ.get(variable):
        return told
    try:
        return click.prompt(variable, hide_input=hidden, err=True)
    except click.Abort:
        reason = f"\n{variable}: not given\n  accepted: an environment variable, or an answer to the prompt"
        raise SystemExit(refuse(reason)) from None
