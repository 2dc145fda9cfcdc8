"""Stories played by the engine and reconstructed from the log lines that nodes would have written."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import LONG
from kept_logs import DATA
from logs_by_engine import exports, reading
from measured_stories import otherwise
from samples import each_third

from hawb.incident.understanding import Incident, of_reading
from hawb.scenario.load import load
from hawb.scenario.outcome import outcome
from hawb.scenario.run import Run

FILES = sorted((DATA / "scenarios").glob("*.yaml"))[:: 1 if LONG else 6]
UNSEEN = {"exclusive-queues-on-another-node", "forgotten-offline-and-the-oldest-mirror",
          "forgotten-offline-with-an-unmirrored-queue", "node-reset", "when-synced-master-lost-for-good"}  # fmt: skip
"""What no log tells of: exclusive queues, what is done to a node that does not run, and queues declared anew."""


def reconstructed(file: Path) -> tuple[dict, Incident]:
    scenario = load(file)
    result = outcome(Run.of(scenario))
    return result, of_reading(reading(scenario, result), exports(scenario), after=False)


@pytest.mark.parametrize(
    "file", each_third(file for file in FILES if file.stem not in UNSEEN), ids=lambda file: file.stem
)
def test_reconstructed_story_ends_alike_or_is_marked_unsure(file: Path, subtests: pytest.Subtests):
    result, incident = reconstructed(file)
    if incident.reconstructed is None:
        assert incident.no_scenario
        return
    with subtests.test(msg="a queue that ends differently is reported as not sure"):
        queues = {name: queue for name, queue in result["queues"].items() if not queue.get("views")}
        assert not [one for one in otherwise(incident, queues, {}) if not one.unsure]
    losses = {one.queue: one for one in incident.losses}
    for queue, account in result["ledger"].items():
        lost = sum(last - first + 1 for first, last in account["lost"])
        found = losses.get(queue)
        with subtests.test(msg="no more is reported as certainly lost than was, and no loss is left out", queue=queue):
            assert (found.certainly_lost if found else 0) <= lost
            assert not lost or (found and (found.certain or found.possible))
