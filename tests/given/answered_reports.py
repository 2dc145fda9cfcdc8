"""A report of each kind, as data and as the page that it is shown on."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from incidents import AUTOHEAL, incident
from inventories import FILES
from made_up_rates import known_spans
from migrations import MATRIX, real
from msgspec.structs import replace
from views_outcomes import UNSYNCHRONISED, play

from hawb import Cluster
from hawb.exports.imported import scenario_of
from hawb.incident.rates import rates
from hawb.planning import inventory
from hawb.planning.explore import Progress, Question, explore
from hawb.planning.lint import lint
from hawb.planning.moves import Spent
from hawb.planning.safe_to_stop import outlook
from hawb.rules.upgrade_road import road
from hawb.study.audit import Summary
from hawb.study.replicas import what_if
from hawb.views.incident import incident_page, incident_report, rates_page, rates_report
from hawb.views.planning import exploration, findings, forecast_page, migration, upgrade_page
from hawb.views.planning.planned_upgrade import upgrade_of
from hawb.views.planning.road_upgrade import along
from hawb.views.report import Report
from hawb.views.story import report as story_report
from hawb.views.study import audit, replica_costs, replica_page, study_report

Answered = tuple[Report, Callable[[], str]]
CLUSTER = FILES[:3]


def safe() -> Answered:
    """Return the report on whether nodes of the real cluster may be stopped."""
    scenario, notes = scenario_of(CLUSTER)
    found = outlook(scenario)[1]
    page = forecast_page.page(scenario.scenario, found, notes)
    return forecast_page.report_of(scenario.scenario, found, notes), lambda: page


def upgrade(at_once: bool = False) -> Answered:
    """Return a rolling upgrade of the real cluster, or its full stop and start."""
    planned = upgrade_of(CLUSTER, at_once)
    planned = replace(planned, before=replace(planned.before, files=()))  # kept pictures name no checkout
    return planned.report(), lambda: upgrade_page.page(planned)


def upgrades() -> Answered:
    """Return all upgrades of a small cluster up to 4.3."""
    cluster = Cluster("a", "b", "c", version="3.13").declare("qq", node="a", arguments={"x-queue-type": "quorum"})
    found = along(cluster.run, road("3.13", "4.3", None), MATRIX)
    return found.report(), lambda: upgrade_page.page(found)


def migrate() -> Answered:
    """Return the migration of the real cluster's queues."""
    plan = real("4.3")
    return migration.report_of(plan), lambda: migration.page(plan, "# Runbook\n")


def linted() -> Answered:
    """Return the problems of the real cluster's policies."""
    read = inventory.of_files(CLUSTER)
    found = lint(read)
    return findings.report_of("real", found, read.notes), lambda: findings.page("real", found, read.notes)


def replicas() -> Answered:
    """Return recommended replica counts of the real cluster's queues, without trials."""
    found = what_if(inventory.of_files(CLUSTER), MATRIX, trials=0)
    return replica_costs.report_of(found), lambda: replica_page.page(found)


def explored() -> Answered:
    """Return the worst case of a mirrored queue, after one stop and one kill."""
    question, answer = searched_for()
    return exploration.report_of(question, answer), lambda: exploration.page(question, answer)


def searched_for() -> tuple[Question, Progress]:
    """Return a search of a mirrored queue, and its result."""
    cluster = Cluster("a", "b", "c", version="3.10").set_policy("ha", "^q", {"ha-mode": "exactly", "ha-params": 2})
    cluster.declare("q", node="a").publish("q", 5)
    question = Question("lost-confirmed", Spent(1, 1), frozenset({"stop", "kill"}))
    return question, searched(cluster, question)


def searched(cluster: Cluster, question: Question) -> Progress:
    """Return the last progress of a search."""
    *_, answer = explore(cluster.run, question)
    return answer


def story() -> Answered:
    """Return the story of a mirror that lacked messages and has taken over."""
    outcome = play(UNSYNCHRONISED)
    return story_report.report_of(outcome), lambda: story_report.page(outcome, "scenario: x\n")


def estimate(
    design: str, measure: str = "lost_confirmed", *more: float | None, environment: str = "rack"
) -> dict[str, Any]:
    """Return a row of estimates; `more` are the ends of the difference from the baseline."""
    low, high = more or (None, None)
    difference = None if low is None or high is None else (low + high) / 2
    return {
        "design": design, "environment": environment, "measure": measure, "trials": 1000, "effective_trials": 1000.0,
        "mean": 3.0, "mean_low": 2.0, "mean_high": 4.0, "trials_for_mean": None,
        "share": 0.2, "share_low": 0.1, "share_high": 0.3, "difference": difference, "difference_low": low,
        "difference_high": high,
    }  # fmt: skip


def study() -> Answered:
    """Return three designs, one of which loses less than the first and one more."""
    pairs = (("plain", 0.0, 0.0), ("better", -3.0, -1.0), ("worse", 1.0, 3.0))
    measures = ("lost_confirmed", "publish_down_s")
    rows = [estimate(design, measure, *ends) for measure in measures for design, *ends in pairs]
    found = study_report.report_of("Three designs", rows, "plain")
    return found, lambda: study_report.page(found, rows)


def risk(code: str, queues: int = 2, clusters: int = 1) -> dict[str, Any]:
    """Return a kind of risk as an audit counts it."""
    example = {"cluster": "one", "thing": "queue q"}
    return {"code": code, "queues": queues, "policies_and_nodes": 0, "clusters": clusters, "example": example}


def audited() -> Answered:
    """Return a fleet of nine clusters with an error, a warning and a file that cannot be read."""
    summary = audited_summary()
    return audit.report_of(summary), lambda: audit.page(summary)


def audited_summary() -> Summary:
    """Return the summary of such a fleet."""
    refused = [{"file": "x.json", "place": "line 1", "given": "nothing", "accepted": "an object"}]
    risks = [risk("no-policy", 70, 5), risk("mirroring-silenced", 9, 3), risk("matches-everything", 12, 2)]
    blockers = [{"blocker": "not durable", "queues": 3, "clusters": 2}]
    return Summary(9, {"classic": 90, "quorum": 10}, risks, blockers, refused)


def logged() -> Answered:
    """Return the findings in the logs of a real partition."""
    found = incident_report.account(incident(AUTOHEAL))
    return incident_report.report_of(found), lambda: incident_page.page(found)


def rated() -> Answered:
    """Return ten made-up clusters whose nodes fail alone and together."""
    found = rates(known_spans())
    report = rates_report.report_of("made-up logs", found)
    return report, lambda: rates_page.page(report, found)


MAKERS: dict[str, Callable[[], Answered]] = {
    "safe": safe, "upgrade": upgrade, "full-stop": lambda: upgrade(at_once=True), "upgrades": upgrades,
    "migrate": migrate, "lint": linted, "replicas": replicas, "explore": explored, "story": story, "study": study,
    "audit": audited, "incident": logged, "rates": rated,
}  # fmt: skip


@cache
def answered(name: str) -> tuple[Report, str]:
    """Return a report by the name of its kind, and its page."""
    report, page = MAKERS[name]()
    return report, page()
