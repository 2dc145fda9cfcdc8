"""Issues as SARIF 2.1.0 (OASIS), which code hosts and editors show beside the lines of a file.

An issue keeps its identity when lines move: its fingerprint is made from rule, subject and file alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hawb import __version__
from hawb.views.formatting import sentence, shown
from hawb.views.issues import Issue, Rule

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
FINGERPRINT = "hawb/1"


def sarif(rules: Sequence[Rule], issues: Sequence[Issue]) -> str:
    """Return a log of one run. Each issue refers to one of the rules; rules without an issue are included too."""
    places = {rule.code: index for index, rule in enumerate(rules)}
    driver = {"name": "hawb", "version": __version__, "rules": [_rule(rule) for rule in rules]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(issue, places[issue.rule]) for issue in issues],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1)


def _rule(rule: Rule) -> dict[str, Any]:
    source = f" Source: {rule.source}." if rule.source else ""
    return {
        "id": rule.code,
        "shortDescription": {"text": f"{sentence(rule.code.replace('-', ' '))}."},
        "fullDescription": {"text": rule.why},
        "help": {"text": f"{rule.remedy}{source}"},
        "defaultConfiguration": {"level": rule.level},
    }


def _result(issue: Issue, rule_index: int) -> dict[str, Any]:
    result = {
        "ruleId": issue.rule,
        "ruleIndex": rule_index,
        "level": issue.level,
        "message": {"text": shown(issue.sentence)},
        "partialFingerprints": {FINGERPRINT: _fingerprint(issue)},
    }
    return result if issue.file is None else result | {"locations": [_location(issue, issue.file)]}


def _location(issue: Issue, file: str) -> dict[str, Any]:
    region = {} if issue.line is None else {"region": {"startLine": issue.line}}
    return {
        "physicalLocation": {"artifactLocation": {"uri": _uri(file)}, **region},
        "logicalLocations": [{"fullyQualifiedName": shown(issue.subject)}],
    }


def _uri(file: str) -> str:
    path = Path(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())


def _fingerprint(issue: Issue) -> str:
    identity = "\0".join((issue.rule, issue.subject, issue.file or ""))
    return hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()
