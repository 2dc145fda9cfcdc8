"""Read a running cluster over its management HTTP API. The password is never an argument and is never stored."""

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
    """Return a running cluster as the document of a scenario, with notes on what it lacks.

    End the program if the API does not answer, refuses the login, or answers something that cannot be used.
    """
    from hawb.exports.untrusted import ImportRefused
    from hawb.exports.watch import ApiRefused, Login, checked, watch

    try:
        checked(url)
        return watch(url, Login(_credential(USER), _credential(PASSWORD, hidden=True)))
    except (ApiRefused, ImportRefused) as refused:
        raise SystemExit(refuse(refused)) from None


def live_cluster(url: str) -> tuple[Scenario, Sequence[str], Live]:
    """Return (scenario, notes, live state) of a running cluster, as `hawb.cli.files.cluster_of` does for files.

    Raise ScenarioRefused; end the program as `read_live` does.
    """
    from hawb.scenario.load import read_scenario

    imported = read_live(url)
    return read_scenario(imported.scenario), imported.notes, imported.live


def _credential(variable: str, hidden: bool = False) -> str:
    """Return a user name or password from the environment, or ask for it.

    It is not an argument because every user of the machine can read the arguments of a process.
    """
    if given := os.environ.get(variable):
        return given
    try:
        return click.prompt(variable, hide_input=hidden, err=True)
    except click.Abort:
        reason = f"\n{variable}: not given\n  accepted: an environment variable, or an answer to the prompt"
        raise SystemExit(refuse(reason)) from None
