"""What all tests share: the counts of the property tests, what several files set up, and the one way to say that a test
cannot run here.

Which test belongs to which command is said by its marks: `full` for what `make test` leaves to `make test-full`, `long`
for what both leave to `make test-long`, `broker` for what only `make test-broker` runs. `make check` leaves out what
starts Spark (`spark`) or a browser (`browser`), or compiles the kernel (`kernel`), too.
"""

from __future__ import annotations

import gc
import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn
from unittest import mock

import notebooks_java
import pytest
import yaml
from browser_pages import close_chromium, why_no_browser
from hypothesis import HealthCheck, settings
from lab_clusters import FOUR_QUEUES

from hawb.engine.core import randomness
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
DAY = int(os.environ.setdefault("HAWB_DAY", str(datetime.now(UTC).toordinal())))

GROUPS = (
    # What compiles the kernel, what shares a Spark session and plays what was compiled before, and the notebooks that
    # share one Java.
    "test_kernel_agreement test_kernel_partitions test_kernel_quorum test_kernel_many_clients test_compiled_search "
    "test_local_search "
    "test_trial_rows test_kernel_block test_kernel_mathematics test_kernel_simpy_model test_compiled_rules "
    "test_renewals test_talking test_live "
    "test_pipeline test_estimates test_prices test_tables test_audit test_explore test_sources test_numbers "
    "test_fleets test_own_draws test_spark test_class_archive test_sources_of_logs test_quantiles "
    "test_pipeline_stopped test_executors test_spark_connect "
    "31-the-policy-table 37-how-often-does-it-fail 30-availability-and-loss 34-rare-losses 33-a-year-of-upgrades "
    "36-a-fleet 32-the-cost-of-synchronisation 35-throughput-and-latency",
    # What drives a browser.
    "test_page_browser test_page_app_browser test_stage_browser test_stage_alone_browser test_pages_browser "
    "test_looks test_page_of_reports_browser test_lab_browser test_learner_browser test_lessons_browser test_builder "
    "test_class_folder_browser test_stage_languages_browser test_question_browser",
    # What reads the logs of real clusters.
    "test_reconstruction test_reading test_clocks test_absences test_node_runs test_cluster_events test_recogniser "
    "test_kept_stories test_incident_timeline test_exports_among_logs",
    "05-model-and-broker",
    # What answers a report of each kind.
    "test_page_of_reports test_terminal test_schemas test_prometheus test_audit_page test_verdicts_study "
    "test_verdicts_explore",
    "test_wide_stories test_wide_campaigns test_kept_campaigns test_fuzz", "test_mutants", "test_wheel",
    "test_scenarios", "test_recordings", "test_cluster_properties", "test_run_varied_scenarios",
)  # fmt: skip
"""The files that one process plays one after the other, and the other longest ones. What is dear is made once in a
group: a kernel compiled, a browser, Java or a Spark session started, logs read, reports answered. The longest begin
first, so that at the end no process is left alone with one of them."""
SHARES = {stem: stems for stems in GROUPS for stem in stems.split()}

# `ci` tries the same examples on every run, so a red test is red for everybody; `long` (make test-long) looks for new
# ones. A test that sets max_examples itself has the same count in both.
settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile(
    "long", max_examples=5_000, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("long" if LONG else "ci")


BEGUN_S = time.monotonic()
OUT_OF_TIME = "the time of make check was over"
SKIPPED: Counter[str] = Counter()
"""The number of skipped tests for each reason."""


def pytest_configure(config: pytest.Config) -> None:
    """Have notebooks share a Java, and commands that tests start be ended by Ctrl-C and by a terminal that closes: a
    shell has what it runs in the background ignore the one, nohup the other, and so would they."""
    config.pluginmanager.register(notebooks_java)
    for number, ends in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, ends)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option by which `make check` keeps to its minute."""
    parser.addoption("--begin-within", type=float, metavar="SECONDS", help="skip what has not begun by then")


def pytest_collection_finish() -> None:
    """Have Python look for unused objects less often, and never among those that are there already: a process holds
    thousands of tests and of numba's types, and would go through all of them again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def pytest_report_header() -> str:
    """Return the variables to set in order to repeat this run's random programs and its samples of the day."""
    return f"random programs: HAWB_SEED={SEED}, samples of a day: HAWB_DAY={DAY}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave tests marked `broker` to `make test-broker`, those marked `long` to `make test-long`, and put the longest
    files first."""
    if config.getoption("begin_within") is None:
        order = {stem: place for place, stem in enumerate(SHARES)}
        items.sort(key=lambda item: order.get(item.path.stem, len(order)))
    elsewhere = [name for name, plays in (("broker", BROKER), ("long", LONG)) if not plays]
    left_out = [item for item in items if any(map(item.get_closest_marker, elsewhere))]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that has not begun in time."""
    within_s = item.config.getoption("begin_within")
    if within_s is not None and time.monotonic() - BEGUN_S > within_s:
        pytest.skip(OUT_OF_TIME)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """End the browser behind the last of several tests that drive one."""
    yield
    if item.get_closest_marker("browser") and not (nextitem and nextitem.get_closest_marker("browser")):
        close_chromium()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Count what was skipped, by the reason."""
    if report.skipped and isinstance(report.longrepr, tuple):
        SKIPPED[report.longrepr[2].removeprefix("Skipped: ")] += 1


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Iterator[None]:
    """Say below everything else how many tests were skipped, why, and what they need."""
    yield
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if SKIPPED and reporter is not None and not hasattr(session.config, "workerinput"):
        reasons = "; ".join(f"{count}: {reason}" for reason, count in SKIPPED.most_common())
        reporter.write_line(f"skipped, {reasons}")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling | None:
    """Share files out to processes, those of a group together."""
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
    with mock.patch.object(randomness, "draw", lambda *_: 0):
        yield


@pytest.fixture
def controller() -> Controller:
    """The lab's controller with four queues open, without a page."""
    from hawb.lab.controller import Controller

    return Controller(FOUR_QUEUES)


@pytest.fixture
def lab(controller: Controller) -> Lab:
    """The lab's page as widgets, without a browser."""
    from hawb.lab.page import Lab

    return Lab(controller)


@pytest.fixture
def spark() -> SparkSession:
    """Two of Spark's workers on this machine: the session of the test before, unless a notebook had it stopped."""
    from pyspark.sql import SparkSession

    from hawb.study.spark import session

    notebooks_java.start()
    return SparkSession.getActiveSession() or session(master="local[2]", **{"spark.sql.shuffle.partitions": "2"})


@pytest.fixture
def small_disk(
    tmp_path: Path, request: pytest.FixtureRequest, unavailable: Callable[[str], NoReturn]
) -> Iterator[Path]:
    """A file system of a few pages; one of so many kilobytes where a test is parametrised by them."""
    place = tmp_path / "small"
    place.mkdir()
    size = f"size={getattr(request, 'param', 250)}k"
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", place], capture_output=True, text=True)
    if made.returncode:
        unavailable(f"a small disk takes root: {made.stderr}")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


@pytest.fixture(scope="session")
def unavailable() -> Callable[[str], NoReturn]:
    """Call it with the reason when this machine lacks what a test needs: a skip, or with CI=true a failure."""
    return _unavailable


def _unavailable(reason: str) -> NoReturn:
    if os.environ.get("CI") == "true":
        pytest.fail(f"cannot run here, and with CI=true every test has to: {reason}", pytrace=False)
    pytest.skip(reason)
