"""The workflow that publishes the site runs what there is, with pinned actions and no more rights than it needs."""

from __future__ import annotations

import re

import yaml
from browser_pages import ROOT

WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "pages.yml").read_text("utf-8"))
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
STEPS = {name: job["steps"] for name, job in WORKFLOW["jobs"].items()}


def recipe(target: str) -> str:
    """Return what make runs for a target of the Makefile."""
    return re.search(rf"^{target}:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)[1]


def test_workflow_runs_existing_targets_and_uploads_their_output():
    (command,) = [step["run"] for step in STEPS["build"] if "run" in step]
    program, target = command.split()
    assert program == "make"
    (folder,) = [step["with"]["path"] for step in STEPS["build"] if "upload-pages-artifact" in step.get("uses", "")]
    assert f"-m hawb.site {folder} " in recipe(target)


def test_each_action_is_pinned_to_a_commit():
    used = [step["uses"] for steps in STEPS.values() for step in steps if "uses" in step]
    assert len(used) == 4
    assert all(re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", one) for one in used)


def test_each_job_has_minimal_permissions():
    assert WORKFLOW["permissions"] == {}
    rights = {name: job["permissions"] for name, job in WORKFLOW["jobs"].items()}
    assert rights == {"build": {"contents": "read"}, "deploy": {"pages": "write", "id-token": "write"}}
    checkout = next(step for step in STEPS["build"] if "checkout" in step.get("uses", ""))
    assert checkout["with"] == {"persist-credentials": False}


def test_only_main_is_published():
    assert WORKFLOW[True] == {"push": {"branches": ["main"]}, "workflow_dispatch": None}
