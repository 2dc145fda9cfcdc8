"""Do the policies do what they say: what a linter found in a sentence, and what to do about the worst of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from hawb.engine.core.naming import split_queue
from hawb.planning.advice import ADVICE, SEVERITIES
from hawb.planning.findings import Finding
from hawb.planning.followed import member_steps
from hawb.views.formatting import counted, listing, shown
from hawb.views.markdown import bash_word
from hawb.views.report import MOST_TO_DO, Answer, ToDo, Verdict

ANSWERS: dict[str, Answer] = {"error": "no", "warning": "no", "note": "yes"}
"""The answer by the worst finding."""
MOST_COMMANDS = 3


def verdict(findings: Sequence[Finding], queues: int, missing: Sequence[str] = ()) -> Verdict:
    """Return whether the policies do what they say: no with an error or a warning; without one, cannot tell where
    something is `missing` among the files."""
    counts = Counter(one.severity for one in findings)
    worst = min(findings, key=lambda one: SEVERITIES.index(one.severity), default=None)
    if missing and (worst is None or worst.severity == "note"):
        return Verdict("unknown", f"none of the files lists {' or '.join(missing)}")
    if worst is None:
        return Verdict("yes", f"no problem with {counted(queues, 'queue')} or the policies that apply to them")
    alike = [one.name for one in findings if (one.code, one.what) == (worst.code, worst.what)]
    told = ", ".join(counted(counts[severity], severity) for severity in SEVERITIES if counts[severity])
    if worst.severity == "note":
        return Verdict("yes", f"there is {told}" if len(findings) == 1 else f"there are {told}, and nothing worse")
    others = f" ({told} in all)" if len(findings) > 1 else ""
    return Verdict(ANSWERS[worst.severity], f"{worst.kind} {listing(alike)}: {shown(worst.what)}{others}")


def bad(findings: Sequence[Finding]) -> dict[str, list[Finding]]:
    """The findings that are more than notes by their codes, the worst first."""
    by_code: dict[str, list[Finding]] = {}
    for one in sorted(findings, key=lambda one: SEVERITIES.index(one.severity)):
        if one.severity != "note":
            by_code.setdefault(one.code, []).append(one)
    return by_code


def todo(findings: Sequence[Finding], missing: Sequence[str] = (), helps: Collection[str] = ADVICE) -> tuple[ToDo, ...]:
    """What to do about the worst kinds of findings that are more than notes, each with whom it is about, of the codes
    whose advice `helps`."""
    asked = [
        ToDo(
            f"{listing(dict.fromkeys(one.name for one in alike))}: {ADVICE[code].remedy}",
            tuple(dict.fromkeys(line for one in alike[:MOST_COMMANDS] for line in commands(one))),
        )
        for code, alike in bad(findings).items()
        if code in helps
    ]
    if not asked and missing:
        asked = [ToDo(f"Add a file that lists {one}: {WRITTEN_BY[one]}.") for one in missing]
    return tuple(asked[:MOST_TO_DO])


WRITTEN_BY = {
    "the queues": "an export, as rabbitmqctl export_definitions writes it, or a listing of queues",
    "the policies": "an export, as rabbitmqctl export_definitions writes it, or /api/queues",
}
"""Which files tell what a report lacks (`hawb.planning.lint.Report.missing`)."""


def commands(finding: Finding) -> tuple[str, ...]:
    """The commands that do what the advice says, with the names filled in; none where files do not tell a name that
    they need, or where a queue has to be declared anew."""
    vhost, name = split_queue(finding.name)
    at = f"-p {bash_word(vhost)}{' --' * name.startswith('-')}"
    detail = finding.detail
    tool, add, delete = STREAM_TOOL if detail.get("type") == "stream" else QUORUM_TOOL
    match finding.code:
        case "policy-feeds-itself":
            return (set_policy(detail["set"]),)
        case "unsynchronised-mirrors":
            return (f"rabbitmqctl sync_queue {at} {bash_word(name)}",)
        case "masters-piled":
            return ("rabbitmq-queues rebalance all",)
        case "member-without-node" | "one-member" | "even-members":
            verbs = {"add_member": add, "delete_member": delete}
            steps = [(verbs[verb], node) for verb, node in member_steps(finding)]
            return tuple(f"{tool} {verb} {at} {bash_word(name)} {bash_word(node)}" for verb, node in steps)
    return ()


QUORUM_TOOL = ("rabbitmq-queues", "add_member", "delete_member")
STREAM_TOOL = ("rabbitmq-streams", "add_replica", "delete_replica")


def set_policy(policy: Mapping[str, object]) -> str:
    """The command that sets a policy, which is given as the scenario contract writes it."""
    words = ["-p", policy["vhost"], "--priority", policy["priority"], "--apply-to", policy["apply_to"]]
    words += ["--", policy["name"], policy["pattern"], json.dumps(policy["definition"])]
    return " ".join(["rabbitmqctl set_policy", *(bash_word(str(word)) for word in words)])
