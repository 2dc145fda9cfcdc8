"""Messages between members of idle quorum queues do not change a trial, also for designs that only the engine plays:
power and disk losses, other releases, full queues, small prefetch."""

from __future__ import annotations

import pytest
from conftest import LONG
from msgspec.structs import replace
from random_studies import Case, quorum_case
from test_kernel_agreement import history_of
from test_kernel_quorum import by_engine

from hawb.study import engine_trial
from hawb.study.environment import Environment, Failures

CASES = range(25 if LONG else 10)
"""Two of each kind; five with HAWB_LONG."""


def with_lost_disks(environment: Environment) -> Environment:
    """Return the environment with hosts that lose power and disks."""

    def worse(given: Failures | None) -> Failures | None:
        shares = {"controlled_share": 0.2, "power_off_share": 0.4, "disk_loss_share": 0.3}
        return given and replace(given, **shares)

    failures = ("node_failures", "host_failures", "rack_failures")
    return replace(environment, **{name: worse(getattr(environment, name)) for name in failures})


def otherwise(given: Case, number: int) -> Case:
    """Return a case that the kernel does not play, except each fifth."""
    design, environment = given.design, given.environment
    match number % 5:
        case 1:
            environment = with_lost_disks(environment)
        case 2:
            design = replace(design, version="4.0")
            environment = replace(environment, traffic=replace(environment.traffic, prefetch=3))
        case 3:
            design = replace(design, arguments={"max-length": 50, "overflow": "reject-publish"})
        case 4:
            design, environment = replace(design, version="4.3"), with_lost_disks(environment)
    return replace(given, design=design, environment=environment)


@pytest.mark.parametrize("number", CASES)
def test_trial_is_the_same_if_flows_are_advanced_before_each_message(number, monkeypatch):
    given = otherwise(quorum_case(number), number)
    result = by_engine(given, history_of(given))
    monkeypatch.setattr(engine_trial, "talk", lambda *_: False)
    assert by_engine(given, history_of(given)) == result
