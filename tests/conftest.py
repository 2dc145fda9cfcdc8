"""What all tests share: the counts of the property tests, what several files set up, and the one way to say that a test
cannot run here."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn
from unittest import mock

import pytest
import yaml
from browser_pages import why_no_browser
from hypothesis import HealthCheck, settings

from hawb.engine import chance
from hawb.scenario import checkout, text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from xdist.remote import Producer
    from xdist.scheduler import LoadScopeScheduling

    from hawb.lab.controller import Controller
    from hawb.lab.page import Lab

LONG = os.environ.get("HAWB_LONG") == "1"
BROKER = os.environ.get("HAWB_BROKER") == "1"
# Processes of xdist, which begin with the environment of the first one, try the seed that it has printed.
SEED = int(os.environ.setdefault("HAWB_SEED", str(random.randrange(2**32) if LONG else 0)))
DAY = int(os.environ.get("HAWB_DAY", datetime.now(UTC).toordinal()))

LONGEST = (
    "test_pipeline test_estimates test_prices test_tables test_live test_audit test_explore test_sources "
    "test_numbers",
    "test_kernel_agreement", "test_wide_stories test_wide_campaigns test_kept_campaigns",
    "test_looks test_page_of_reports_browser", "test_compiled_search", "test_kernel_quorum", "test_page_browser",
    "test_kernel_partitions", "05-model-and-broker", "31-the-policy-table", "test_mutants", "test_learner_browser",
    "34-rare-losses", "test_wheel", "test_recordings", "test_stage_browser", "30-availability-and-loss", "36-a-fleet",
    "37-how-often-does-it-fail",
    "33-a-year-of-upgrades", "test_run_varied_scenarios", "test_page_app_browser", "32-the-cost-of-synchronisation",
    "test_cluster_properties", "test_fuzz", "35-throughput-and-latency",
)  # fmt: skip
"""The files that take about half a minute or more, longest first, so that at the end no process is left alone with one
of them. While one process has Spark, another compiles the kernel, which the others find then. What stands together one
process plays: Spark and its workers take long to start, the arrays of wide stories to be made, reports to be
answered."""
SHARES = {stem: stems for stems in LONGEST for stem in stems.split()}

# `ci` tries the same examples on every run, so a red test is red for everybody; `long` (make test-long) looks for new
# ones. A test that sets max_examples itself has the same count in both.
settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile(
    "long", max_examples=5_000, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("long" if LONG else "ci")


def pytest_report_header() -> str:
    """What to set for the same random programs again."""
    return f"random programs: HAWB_SEED={SEED}" + f", live scenarios: HAWB_DAY={DAY}" * BROKER


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves tests marked `broker` to `make test-broker`, and has the longest files first."""
    order = {stem: place for place, stem in enumerate(SHARES)}
    items.sort(key=lambda item: order.get(item.path.stem, len(order)))
    left_out = [] if BROKER else [item for item in items if item.get_closest_marker("broker")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling | None:
    """Shares files out to processes, and those together that stand so in `LONGEST`."""
    from xdist.scheduler import LoadScopeScheduling

    if config.getvalue("dist") != "loadscope":
        return None

    class Shares(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return SHARES.get(Path(file).stem, file)

    return Shares(config, log)


@pytest.fixture
def in_browser() -> None:
    """For a test that drives a browser: without one it cannot run here."""
    if reason := why_no_browser():
        _unavailable(reason)


@pytest.fixture
def outside_checkouts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For a test of what there is without a checkout's data: neither the current folder nor hawb's own has any."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(checkout, "OWN", tmp_path)


@pytest.fixture(params=[yaml.SafeLoader, getattr(yaml, "CSafeLoader", yaml.SafeLoader)], ids=["python", "libyaml"])
def each_parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both parsers of PyYAML, since either may be what is installed."""
    monkeypatch.setattr(text, "_LOADER", request.param)


@pytest.fixture
def no_chance() -> Iterator[None]:
    """Every draw is 0."""
    with mock.patch.object(chance, "draw", lambda *_: 0):
        yield


@pytest.fixture
def controller() -> Controller:
    """The lab's controller, without a page."""
    from hawb.lab.controller import Controller

    return Controller()


@pytest.fixture
def lab(controller: Controller) -> Lab:
    """The lab's page as widgets, without a browser."""
    from hawb.lab.page import Lab

    return Lab(controller)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Two of Spark's workers on this machine."""
    from hawb.study.spark import session

    running = session(master="local[2]", **{"spark.sql.shuffle.partitions": "2"})
    yield running
    running.stop()


@pytest.fixture(scope="session")
def unavailable() -> Callable[[str], NoReturn]:
    """Call it with the reason when this machine lacks what a test needs: a skip, or with CI=true a failure."""
    return _unavailable


def _unavailable(reason: str) -> NoReturn:
    if os.environ.get("CI") == "true":
        pytest.fail(f"cannot run here, and with CI=true every test has to: {reason}", pytrace=False)
    pytest.skip(reason)
