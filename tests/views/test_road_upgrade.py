"""Plans along an upgrade path: one per set of rules, with the requirements of each step."""

from __future__ import annotations

import re
import subprocess

import pytest
from html_pages import FETCHING, Page
from migrations import MATRIX
from msgspec.structs import replace
from samples import sample
from upgrade_clusters import ALL, cluster, mirrored, quorum
from views_outcomes import HOSTILE

from hawb.rules.upgrade_road import road
from hawb.scenario.run import Run
from hawb.views import terminal
from hawb.views.planning import upgrade_page
from hawb.views.planning.road_upgrade import RoadUpgrade, along


def planned(run: Run, goal: str = "4.3", via: list[str] | None = None) -> RoadUpgrade:
    return along(run, road(run.scenario.cluster.version, goal, via), MATRIX)


@pytest.fixture(scope="module")
def upgrade() -> RoadUpgrade:
    return planned(cluster(mirrored("ha"), quorum("qq"), ha=ALL | {"ha-promote-on-shutdown": "always"}))


def test_steps_with_the_same_rules_have_one_plan(upgrade: RoadUpgrade):
    assert [(roll.version, roll.moved, [leg.name for leg in roll.legs]) for roll in upgrade.rolls] == [
        ("3.10", False, ["3.10 -> 3.11", "3.11 -> 3.12", "3.12 -> 3.13"]),
        ("3.13", True, ["3.13 -> 4.2"]),
        ("4.0", True, ["4.2 -> 4.3"]),
    ]  # fmt: skip


def test_mirrors_are_waited_for_only_while_there_are_any(upgrade: RoadUpgrade):
    waits = [{stage.wait for stage in roll.planned.plan.stages} for roll in upgrade.rolls]
    assert any("synced" in wait for wait in waits[0])
    assert not any("synced" in wait for each in waits[1:] for wait in each)
    assert any("quorum + 1" in wait for wait in waits[2])


def test_mirrored_queues_are_to_be_moved_where_there_are_any(upgrade: RoadUpgrade):
    assert upgrade.todo()[0].what.startswith("Move mirrored queues") and upgrade.todo()[0].commands == ()
    asked = replace(upgrade, before=replace(upgrade.before, files=("own.json",))).todo()[0]
    assert asked.commands == ("hawb migrate own.json --to 4.3 --plan plan/",)
    quorum_alone = planned(cluster(quorum("qq"), version="3.13"))
    assert not [one for one in quorum_alone.todo() if "migrate" in " ".join(one.commands)]
    assert "\\n" not in terminal.text(upgrade.report())


def test_every_plan_states_its_losses():
    safe = planned(cluster(quorum("qq"), version="4.0"))
    assert safe.verdict().answer != "no" and "0.000 s" in terminal.text(safe.report())
    assert planned(cluster(mirrored("ha") | {"durable": False}, version="3.13", ha=ALL)).verdict().answer == "no"


def test_text_shows_path_plans_and_limitations(upgrade: RoadUpgrade):
    text = terminal.text(upgrade.report())
    assert "3.13 -> 4.2   4.2.11, Erlang 27.0 to 27.x     mirrored queues moved; Erlang changed" in text
    assert " ".join(text.split()).count("tried every order and every wait") == 3
    assert "every step" in text and "keeps the next node" in text


def test_the_runbook_has_each_step_with_its_flags_and_its_roll(upgrade: RoadUpgrade):
    text = upgrade.runbook()
    outside = re.sub(r"(?ms)^(`{3,})bash$.*?^\1$", "", text)
    assert re.findall(r"^#{1,2} (.*)$", outside, re.MULTILINE) == [
        "Upgrades, one after the other: x", "The steps", "Step 1: 3.10 -> 3.11", "Step 2: 3.11 -> 3.12",
        "Step 3: 3.12 -> 3.13", "Step 4: 3.13 -> 4.2", "Step 5: 4.2 -> 4.3",
    ]  # fmt: skip
    assert text.count("As in step 1: the same order") == 2
    assert text.index("enable_feature_flag khepri_db") > text.index("Step 5")
    assert "# on the host of a: install" in text and "### on the host" not in text
    for block in re.findall(r"(?ms)^```bash$\n(.*?)^```$", text):
        subprocess.run(["bash", "-n"], input=block.encode(), check=True)


def test_json_has_all_of_it(upgrade: RoadUpgrade):
    text = upgrade.plain()
    assert [leg["to"] for leg in text["road"]] == ["3.11", "3.12", "3.13", "4.2", "4.3"]
    assert [roll["rules"] for roll in text["rolls"]] == ["3.10", "3.13", "4.0"]
    assert all(roll["plan"]["prediction"]["lost"] == 0 for roll in text["rolls"])


@pytest.mark.parametrize("name", sample([*HOSTILE, "```", "a|b"], 3))
def test_names_are_escaped(name: str):
    run = cluster(mirrored(f"ha{name}", "ab"), nodes=("a", "b"), version="3.13", ha=ALL)
    found = planned(run)
    for text in (terminal.text(found.report()), found.runbook()):
        assert all(letter.isprintable() or letter in "\n\u2068\u2069" for letter in text)
    elements = Page(upgrade_page.page(found)).elements
    assert not [tag for tag, of in elements if tag in FETCHING and not (of.get("xlink:href") or "").startswith("#")]
