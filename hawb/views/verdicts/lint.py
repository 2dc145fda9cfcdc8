"""The verdict of the linter: if the policies have the effect that they should, and what to do about findings."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from hawb.engine.core.naming import split_queue
from hawb.planning.advice import ADVICE, SEVERITIES
from hawb.planning.findings import Finding
from hawb.planning.followed import member_steps
from hawb.planning.remedies import Remedy
from hawb.views.formatting import counted, listing, shown
from hawb.views.markdown import bash_word
from hawb.views.remedy_commands import START, member_command, to_do
from hawb.views.report import MOST_TO_DO, Answer, ToDo, Verdict

ANSWERS: dict[str, Answer] = {"error": "no", "warning": "no", "note": "yes"}
"""The answer by the severity of the worst finding."""
MOST_COMMANDS = 3
PLURALS = {"policy": "policies", "operator policy": "operator policies", "queue": "queues", "node": "nodes"}


def verdict(findings: Sequence[Finding], queues: int, missing: Sequence[str] = ()) -> Verdict:
    """Return the verdict: no with an error or a warning, else yes.

    Return unknown if there is neither, and something is `missing` in the files.
    """
    counts = Counter(one.severity for one in findings)
    worst = min(findings, key=lambda one: SEVERITIES.index(one.severity), default=None)
    if missing and (worst is None or worst.severity == "note"):
        return Verdict("unknown", f"none of the files lists {' or '.join(missing)}")
    if worst is None:
        return Verdict("yes", f"no problem with {counted(queues, 'queue')} or the policies that apply to them")
    alike = [one.name for one in findings if (one.code, one.what) == (worst.code, worst.what)]
    text = ", ".join(counted(counts[severity], severity) for severity in SEVERITIES if counts[severity])
    if worst.severity == "note":
        return Verdict("yes", f"there is {text}" if len(findings) == 1 else f"there are {text}, and nothing worse")
    others = f" ({text} in all)" if len(findings) > 1 else ""
    kinds = PLURALS[worst.kind] if len(alike) > 1 else worst.kind
    return Verdict(ANSWERS[worst.severity], f"{kinds} {listing(alike)}: {shown(worst.what)}{others}")


def bad(findings: Sequence[Finding]) -> dict[str, list[Finding]]:
    """Return the errors and warnings by code, the worst first."""
    by_code: dict[str, list[Finding]] = {}
    for one in sorted(findings, key=lambda one: SEVERITIES.index(one.severity)):
        if one.severity != "note":
            by_code.setdefault(one.code, []).append(one)
    return by_code


def todo(findings: Sequence[Finding], missing: Sequence[str] = (), helps: Collection[str] = ADVICE) -> tuple[ToDo, ...]:
    """Return what to do about the worst kinds of errors and warnings, each with the names that it concerns.

    Only codes in `helps` count. Without any, say which files to add if something is `missing`.
    """
    asked = [one for code, alike in bad(findings).items() if code in helps for one in _asked(code, alike)]
    if not asked and missing:
        asked = [ToDo(f"Add a file that lists {one}: {WRITTEN_BY[one]}.") for one in missing]
    return tuple(asked[:MOST_TO_DO])


def _asked(code: str, alike: Sequence[Finding]) -> list[ToDo]:
    """Return the to-dos about the findings of one code.

    Members on nodes that have left the cluster get the same to-dos as in other commands.
    """
    if code == "member-without-node":
        return [to_do(one) for one in _replaced(alike)]
    lines = tuple(dict.fromkeys(line for one in alike[:MOST_COMMANDS] for line in commands(one)))
    return [ToDo(f"{listing(dict.fromkeys(one.name for one in alike))}: {ADVICE[code].remedy}", lines)]


def _replaced(found: Sequence[Finding]) -> Iterator[Remedy]:
    """Yield the remedies of `hawb.planning.remedies` for members on nodes that have left the cluster."""
    streams = frozenset(one.name for one in found if one.detail["type"] == "stream")
    stepped = [(one.name, verb, node) for one in found for verb, node in member_steps(one)]
    again = {queue for queue, verb, _ in stepped if verb == "rejoin"}
    if replaced := [one for one in stepped if one[0] not in again]:
        started = dict.fromkeys(node for _, verb, node in replaced if verb == "start")
        nodes = dict.fromkeys(node for _, verb, node in replaced if verb == "delete_member")
        queues = dict.fromkeys(queue for queue, *_ in replaced)
        start = [{"start": [*started]}] if started else []
        steps = (*start, *_members(replaced, "delete_member", "add_member"))
        yield Remedy("replace", tuple(nodes), tuple(queues), steps, streams)
    if rejoined := [one for one in stepped if one[0] in again]:
        nodes = dict.fromkeys(node for _, verb, node in rejoined if verb == "rejoin")
        joined = [{verb: node} for node in nodes for verb in ("reset", "join")]
        steps = (*_members(rejoined, "delete_member"), *joined, *_members(rejoined, "add_member"))
        queues = dict.fromkeys(queue for queue, verb, _ in rejoined if verb == "add_member")
        yield Remedy("rejoin", tuple(nodes), tuple(queues), steps, streams, str(found[0].detail["at"]))


def _members(stepped: Sequence[tuple[str, str, str]], *verbs: str) -> list[dict[str, dict[str, str]]]:
    return [{verb: {"queue": queue, "node": node}} for queue, verb, node in stepped if verb in verbs]


WRITTEN_BY = {
    "the queues": "an export, as rabbitmqctl export_definitions writes it, or a listing of queues",
    "the policies": "an export, as rabbitmqctl export_definitions writes it, or /api/queues",
}
"""The files that contain what a report lacks (`hawb.planning.lint.Report.missing`)."""


def commands(finding: Finding) -> tuple[str, ...]:
    """Return the commands that follow the advice, with names filled in.

    Return none if the files lack a name, or if a queue has to be declared again.
    """
    vhost, name = split_queue(finding.name)
    at = f"-p {bash_word(vhost)}{' --' * name.startswith('-')}"
    detail = finding.detail
    match finding.code:
        case "policy-feeds-itself":
            return (set_policy(detail["set"]),)
        case "unsynchronised-mirrors":
            start = (START.format(shown(str(detail["start"]))),) if "start" in detail else ()
            return (*start, f"rabbitmqctl sync_queue {at} {bash_word(name)}")
        case "masters-piled":
            return ("rabbitmq-queues rebalance all",)
        case "members-offline":
            starts = [START.format(shown(node)) for node in detail["start"]]
            steps = [(verb, node) for node in detail["again"] for verb in ("delete_member", "add_member")]
            return (*starts, *(member_command(verb, finding.name, node, _streams(finding)) for verb, node in steps))
        case "one-member" | "even-members":
            streams = _streams(finding)
            return tuple(member_command(verb, finding.name, node, streams) for verb, node in member_steps(finding))
    return ()


def _streams(finding: Finding) -> frozenset[str]:
    return frozenset({finding.name}) if finding.detail.get("type") == "stream" else frozenset()


def set_policy(policy: Mapping[str, object]) -> str:
    """Return the command that sets a policy, given as a map of the scenario contract."""
    words = ["-p", policy["vhost"], "--priority", policy["priority"], "--apply-to", policy["apply_to"]]
    words += ["--", policy["name"], policy["pattern"], json.dumps(policy["definition"])]
    return " ".join(["rabbitmqctl set_policy", *(bash_word(str(word)) for word in words)])
