"""The forms that systems for continuous integration read: the part of SARIF 2.1.0 that is written here, as strict as
the standard has it, and JUnit's XML as counts."""

from __future__ import annotations

import json
from xml.etree import ElementTree

from jsonschema import Draft202012Validator


def _object(required: str, optional: str = "", **properties: object) -> dict:
    """Return the schema of an object with these keys alone; keys without a description are text."""
    names = [*required.split(), *optional.split()]
    return {
        "type": "object", "required": required.split(), "additionalProperties": False,
        "properties": {name: properties.get(name, {"type": "string", "minLength": 1}) for name in names},
    }  # fmt: skip


LEVEL = {"enum": ["none", "note", "warning", "error"]}
TEXT = _object("text")
RULE = _object("id", "shortDescription fullDescription help defaultConfiguration", shortDescription=TEXT,
               fullDescription=TEXT, help=TEXT, defaultConfiguration=_object("level", level=LEVEL))  # fmt: skip
REGION = _object("startLine", startLine={"type": "integer", "minimum": 1})
PHYSICAL = _object("artifactLocation", "region", region=REGION,
                   artifactLocation=_object("uri", uri={"type": "string", "pattern": r"^[^\s\\]+$"}))  # fmt: skip
LOCATION = _object("physicalLocation", "logicalLocations", physicalLocation=PHYSICAL,
                   logicalLocations={"type": "array", "items": _object("fullyQualifiedName")})  # fmt: skip
RESULT = _object(
    "message ruleId", "ruleIndex level locations partialFingerprints", message=TEXT, level=LEVEL,
    ruleIndex={"type": "integer", "minimum": 0}, locations={"type": "array", "items": LOCATION},
    partialFingerprints={"type": "object", "additionalProperties": {"type": "string"}},
)  # fmt: skip
DRIVER = _object("name", "version rules", rules={"type": "array", "items": RULE, "uniqueItems": True})
RUN = _object("tool", "results columnKind", tool=_object("driver", driver=DRIVER),
              columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
              results={"type": "array", "items": RESULT})  # fmt: skip
SARIF = _object("version runs", "$schema", version={"const": "2.1.0"}, runs={"type": "array", "items": RUN})


def results_of(log: str) -> list[dict]:
    """Return the results of a valid SARIF log in which each result has the rule that its index names."""
    answer = json.loads(log)
    Draft202012Validator(SARIF).validate(answer)
    [run] = answer["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])
    return run["results"]


def place_of(result: dict) -> tuple[str, int | None]:
    """Return (file, line) of a result."""
    [location] = result["locations"]
    part = location["physicalLocation"]
    return part["artifactLocation"]["uri"], part.get("region", {}).get("startLine")


def cases_of(document: str) -> dict[str, list[ElementTree.Element]]:
    """Return the cases of a JUnit document by name, each with its content; its counts are checked."""
    root = ElementTree.fromstring(document)
    assert root.tag == "testsuites"
    for counted in (root, *root.iter("testsuite")):
        cases = [*counted.iter("testcase")]
        found = [sum(case.find(tag) is not None for case in cases) for tag in ("failure", "error")]
        assert [int(counted.attrib[key]) for key in ("tests", "failures", "errors")] == [len(cases), *found]
    return {case.attrib["name"]: [*case] for case in root.iter("testcase")}
