"""An incident as plain values, for JSON (`hawb.views.incident_answers.Incident`)."""

from __future__ import annotations

from typing import Any

from hawb.engine.core import runs
from hawb.incident.asked import Asked
from hawb.incident.compared import Comparison
from hawb.incident.events import Event
from hawb.incident.losses import QueueLosses
from hawb.incident.node_runs import NodeRun
from hawb.incident.understanding import Incident
from hawb.planning.alternatives import Alternatives
from hawb.scenario.dump import plain as plain_scenario
from hawb.views.incident.incident_report import Account, expected
from hawb.views.incident.sentences import Sentence
from hawb.views.incident.timeline import plain as plain_events
from hawb.views.verdicts.incident import verdict

NODE_RUN = ("node", "from_us", "until_us", "started_us", "seen_us", "ended_by", "reason")
CERTAIN, POSSIBLE = ("count", "cause", "at_us"), ("cause", "from_us", "until_us", "at_us", "listed", "only")


def plain(of: Account) -> dict[str, Any]:
    """Return everything about an incident, with the events behind it."""
    incident = of.incident
    answer = verdict(incident, of.names)
    return {
        "verdict": {"answer": answer.answer, "sentence": answer.sentence},
        "headline": of.picture.title,
        "story": [_sentence(one) for one in of.story],
        "span": _span(incident),
        "lives": [_fields(run, NODE_RUN) for run in incident.node_runs if _overlaps(run, incident.span)],
        "losses": [_losses(one) for one in incident.losses],
        "comparison": None if incident.comparison is None else _comparison(incident.comparison),
        "keepers": [_keepers(one) for one in incident.keepers],
        "doubts": [{"kind": doubt.kind, "text": doubt.text} for doubt in incident.reconstructed.doubts]
        if incident.reconstructed else [],
        "scenario": plain_scenario(incident.reconstructed.scenario) if incident.reconstructed else None,
        "untold": incident.no_scenario,
        **plain_events(incident.span.of(incident.reading)),
    }  # fmt: skip


def _span(incident: Incident) -> dict[str, int | None]:
    """Return the span that the user asked for, and the span of the reconstructed story."""
    reconstructed = incident.reconstructed
    return {"since_us": incident.asked.since_us, "until_us": incident.asked.until_us,
            "begins_us": reconstructed and reconstructed.begins_us,
            "ends_us": reconstructed and reconstructed.ends_us}  # fmt: skip


def _overlaps(run: NodeRun, span: Asked) -> bool:
    return not span.is_over(run.from_us) and (run.until_us is None or span.has_begun_by(run.until_us))


def _fields(of: object, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(of, name) for name in names}


def _lines(events: tuple[Event, ...]) -> list[dict[str, Any]]:
    return [{"file": event.file, "line": event.line} for event in events]


def _sentence(one: Sentence) -> dict[str, Any]:
    return {**_fields(one, ("number", "kind", "at_us", "until_us", "text")), "nodes": [*one.moments],
            "queues": [*one.queues], "lines": _lines(one.events)}  # fmt: skip


def _losses(one: QueueLosses) -> dict[str, Any]:
    return {"queue": one.queue, "kept": one.kept, "certain": [_fields(loss, CERTAIN) for loss in one.certain],
            "possible": [_fields(loss, POSSIBLE) | {"nodes": [*loss.nodes]} for loss in one.possible]}  # fmt: skip


def _comparison(found: Comparison) -> dict[str, Any]:
    parted = [{"at_us": pair.at_us, "step": pair.step, "kind": pair.kind,
               "seen": _lines(pair.seen.events) if pair.seen else None,
               "expected": expected(pair) if pair.expected else None} for pair in found.apart]  # fmt: skip
    return {"equal": found.equal, "parted": parted}


def _keepers(of: Alternatives) -> dict[str, Any]:
    changes = [{"what": one.change.what, "where": one.change.where, "kept": one.kept,
                "lost": runs.size(one.result.lost), "state": one.result.state}
               for one in of.changed if one.result is not None]  # fmt: skip
    return {"queue": of.harm.queue, "lost": runs.size(of.harm.lost), "changes": changes}
