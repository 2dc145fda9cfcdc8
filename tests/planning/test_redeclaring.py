"""Applications that redeclare moved queues: which must change, by the way of the move."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from inventories import cluster, queue
from migrations import MATRIX

from hawb.exports.routing import Routing, read_routing
from hawb.planning.crossing import crossed
from hawb.planning.migrated_definitions import beside, definitions
from hawb.planning.migration import Migration
from hawb.views.planning import applications
from hawb.views.planning.migration_runbook import runbook
from hawb.views.verdicts.migrate import todo, verdict

TYPE, CLASSIC = ("x-queue-type",), {"x-queue-type": "classic"}


def plan(*queues, runs: str = "3.13.7", version: str = "3.13", to: str = "4.0", **default_types: str) -> Migration:
    """Return the plan for the running release, with default types by virtual host (`root` for /)."""
    types = {vhost.replace("root", "/"): kind for vhost, kind in default_types.items()}
    made = cluster(queues=list(queues), version=version, release=runs)
    return crossed(made, to, MATRIX, Routing(["/"], default_types=types))


def found(arguments: dict, **more):
    return plan(queue(arguments=arguments), **more).moves[0].redeclaration


@pytest.mark.parametrize(
    ("arguments", "more", "sends", "beside", "in_place", "relaxed"),
    [
        ({}, {}, "no type", (), TYPE, TYPE),
        (CLASSIC, {}, "a type", TYPE, TYPE, ()),
        (CLASSIC, {"root": "classic"}, "perhaps a type", (), TYPE, ()),
        (CLASSIC, {"root": "quorum"}, "a type", TYPE, TYPE, ()),
        ({}, {"root": "quorum"}, "no type", (), (), ()),
        ({}, {"root": "classic"}, "no type", (), TYPE, ()),
        ({}, {"runs": "4.0.5", "version": "4.0"}, "no type", (), TYPE, ()),
        (CLASSIC, {"runs": "4.0.5", "version": "4.0"}, "perhaps a type", (), TYPE, ()),
        ({}, {"runs": "4.1.2", "version": "4.0", "to": "4.3"}, "no type", (), TYPE, ()),
        ({}, {"runs": "3.10.8", "version": "3.10", "to": "3.10"}, "no type", (), TYPE, None),
        ({}, {"runs": "3.10.5", "version": "3.10", "to": "3.10"}, "no type", TYPE, TYPE, None),
        ({}, {"runs": "3.8.9", "version": "3.8", "to": "3.8"}, "no type", TYPE, TYPE, None),
        ({}, {"runs": "3.8.9", "version": "3.8", "to": "4.0"}, "no type", (), TYPE, TYPE),
        ({"x-overflow": "reject-publish-dlx"}, {}, "no type", ("x-overflow",), ("x-overflow", *TYPE),
         ("x-overflow", *TYPE)),
        (CLASSIC | {"x-max-length": -1}, {}, "a type", ("x-max-length", *TYPE), ("x-max-length", *TYPE),
         ("x-max-length",)),
    ],
)  # fmt: skip
def test_applications_that_must_change(
    arguments: dict, more: dict, sends: str, beside: tuple, in_place: tuple, relaxed
):
    result = found(arguments, **more)
    assert (result.sends, result.in_new_vhost, result.in_place, result.relaxed) == (sends, beside, in_place, relaxed)
    assert result.type == "quorum"


def test_unsupported_argument_is_refused_only_if_it_would_create_the_queue():
    findings = found({"x-queue-mode": "lazy", "x-max-length": 5})
    assert (findings.in_new_vhost, findings.if_created) == ((), ("x-queue-mode",))


def test_added_argument_must_be_sent():
    assert found({"x-queue-master-locator": "random"}).in_new_vhost == ("x-queue-leader-locator",)


def test_classic_queue_in_the_new_virtual_host_needs_its_type():
    both = plan(queue("moves"), queue("stays", arguments={"x-max-priority": 5}), to="3.13")
    stays = both.moves[1].redeclaration
    assert (stays.type, stays.in_new_vhost, stays.in_place) == ("classic", TYPE, ())
    assert [clash.name for clash in both.clashes if clash.code == "redeclare"] == ["stays"]
    alone = plan(queue("stays", arguments={"x-max-priority": 5}), to="3.13")
    assert alone.moves[0].redeclaration is None, "no new virtual host is added"
    assert plan(queue("m"), queue("s", auto_delete=True)).moves[1].redeclaration is None, "quorum is not filled in"


def test_queue_moved_at_the_end_of_the_path_is_classic_until_then():
    made = plan(queue("moves"), queue("later", arguments={"x-max-priority": 5}))
    assert made.moves[1].redeclaration.type == "classic"
    assert [row[2] for row in applications.rows(made) if "later" in row[0]] == ["must send x-queue-type classic"]


def test_queues_that_stay_are_declared_as_before():
    kept = plan(queue("qq", type="quorum", arguments={"x-queue-type": "quorum"}), queue("log", type="stream"))
    assert [move.redeclaration for move in kept.moves] == [None, None]
    assert applications.rows(kept) == []


def test_move_without_changed_applications_is_advised():
    made = plan(queue("orders"))
    assert verdict(made).sentence == "Yes: nothing changes for orders but the type."
    assert [clash.code for clash in made.clashes] == []
    assert todo(made)[0].what.startswith("Move to new virtual hosts: there, applications that send no x-queue-type")
    typed = plan(queue("orders", arguments=CLASSIC), queue("invoices"))
    assert [clash.name for clash in typed.clashes] == ["orders"]
    assert "In new virtual hosts, no other application must change." in todo(typed)[0].what


def test_rows_state_the_arguments_to_send():
    made = plan(queue("a"), queue("b", arguments=CLASSIC), queue("c", arguments={"x-overflow": "reject-publish-dlx"}))
    assert applications.rows(made) == [
        ("1: c", "no x-queue-type", "must send x-overflow as the queue has it",
         *["must send x-overflow as the queue has it, send x-queue-type quorum"] * 2),
        ("1: b", "x-queue-type", "must send x-queue-type quorum or none", "must send x-queue-type quorum",
         "need not change"),
        ("1: a", "no x-queue-type", "need not change", *["must send x-queue-type quorum"] * 2),
    ]  # fmt: skip
    row = applications.rows(plan(queue("a", arguments=CLASSIC), runs="4.0.5", version="4.0"))[0]
    assert row[2] == "need not change, unless they send x-queue-type classic"


@pytest.mark.parametrize(
    ("more", "has"),
    [({}, True), ({"runs": "3.10.8", "version": "3.10", "to": "3.10"}, True),
     ({"runs": "3.10.5", "version": "3.10", "to": "3.10"}, False), ({"runs": "3.8.9", "version": "3.8"}, True),
     ({"runs": "3.8.9", "version": "3.8", "to": "3.8"}, False)],
)  # fmt: skip
def test_runbook_definitions_and_advice_agree_on_the_default_type(more: dict, has: bool):
    """The import sets the same default type as the command that creates the virtual host."""
    made = plan(queue("orders"), **more)
    text, moving = runbook(made, [], MATRIX), made.moving
    names = beside(moving)
    vhosts = definitions(moving, names.__getitem__, new=True)["vhosts"]
    assert ("add_vhost quorum --default-queue-type quorum" in text) is has
    assert vhosts == [{"name": "quorum"} | ({"metadata": {"default_queue_type": "quorum"}} if has else {})]
    assert (made.moves[0].redeclaration.in_new_vhost == ()) is has
    assert ("need not change" in text) is has


def test_import_in_place_keeps_the_default_type():
    made = plan(queue("orders"), root="classic")
    assert definitions(made)["vhosts"] == [{"name": "/", "metadata": {"default_queue_type": "classic"}}]
    assert "metadata" not in json.dumps(definitions(plan(queue("orders"))))


def test_default_types_are_read_from_an_export(tmp_path: Path):
    """3.10 and later write them into the metadata, and 4.0 to 4.2 also beside it."""
    result = [{"metadata": {"default_queue_type": "quorum"}}, {"default_queue_type": "rabbit_classic_queue"}, {},
            {"metadata": {"default_queue_type": "undefined"}}, {"metadata": {"default_queue_type": "SECRET"}},
            {"metadata": []}]  # fmt: skip
    file = tmp_path / "definitions.json"
    vhosts = [{"name": f"v{number}"} | one for number, one in enumerate(result)]
    file.write_text(json.dumps({"vhosts": vhosts, "queues": [], "policies": []}))
    assert read_routing([file]).default_types == {"v0": "quorum", "v1": "classic"}
