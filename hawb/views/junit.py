"""Cases as JUnit XML, in the form that Jenkins, GitLab and others read: each passes, fails or has an error.

Issues that are not errors go to a case's output; they do not fail it.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from hawb.views.formatting import shown
from hawb.views.issues import Case, Issue, Suite

ERROR = "error"


def junit(suites: Sequence[Suite]) -> str:
    """Return the suites as an XML document in ASCII, which stays valid UTF-8 on an output with any code page."""
    root = Element("testsuites", name="hawb", **_counts([case for suite in suites for case in suite.cases]))
    for suite in suites:
        below = SubElement(root, "testsuite", name=shown(suite.name), **_counts(suite.cases))
        for case in suite.cases:
            _case(SubElement(below, "testcase", classname=shown(suite.name), name=shown(case.name)), case)
    indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root).decode()


def _counts(cases: Sequence[Case]) -> dict[str, str]:
    failures = sum(bool(_failed(case)) and not case.broken for case in cases)
    return {"tests": str(len(cases)), "failures": str(failures), "errors": str(sum(case.broken for case in cases))}


def _failed(case: Case) -> list[Issue]:
    return [issue for issue in case.issues if issue.level == ERROR]


def _case(element: Element, case: Case) -> None:
    if failed := _failed(case):
        first = failed[0]
        more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
        test_case = SubElement(
            element, "error" if case.broken else "failure", type=first.rule, message=f"{shown(first.sentence)}{more}"
        )
        test_case.text = "\n".join(map(_line, failed))
    if others := [issue for issue in case.issues if issue.level != ERROR]:
        SubElement(element, "system-out").text = "\n".join(f"{issue.level}: {_line(issue)}" for issue in others)


def _line(issue: Issue) -> str:
    return ": ".join(filter(None, (shown(issue.place), shown(issue.sentence))))
