"""Importing a definitions export into a scenario: what is carried, what is only noted, and refused files."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hawb.exports import untrusted
from hawb.exports.definitions import read_definitions
from hawb.exports.imported import Imported, import_cluster
from hawb.exports.routing import read_routing
from hawb.exports.untrusted import ImportRefused
from hawb.rules.nearest_profile import nearest
from hawb.rules.profiles import PROFILES
from hawb.scenario.document import Scenario, Version

REAL = Path(__file__).parents[2] / "data" / "real"
EXPORT = json.loads((REAL / "definitions.json").read_text())
LISTINGS = sorted(file for file in REAL.iterdir() if file.name not in ("README.md", "definitions.json"))
HASHES = [user["password_hash"] for user in EXPORT["users"]]
SECRET = re.compile("|".join([*map(re.escape, HASHES), r"\bsvc-orders\b", r"\bops\b", r"\bguest\b"]))


def imported(path: Path, export: Any, *listings: Path) -> Imported:
    file = path / "definitions.json"
    file.write_text(export if isinstance(export, str) else json.dumps(export))
    return import_cluster(file, listings)


def refused(path: Path, export: Any) -> ImportRefused:
    with pytest.raises(ImportRefused) as caught:
        imported(path, export)
    assert len(str(caught.value).splitlines()) <= 4
    assert not SECRET.search(str(caught.value))
    return caught.value


def noted(result: Imported, *words: str) -> bool:
    return any(all(word in note for word in words) for note in result.notes)


def test_import_of_the_real_export_has_every_queue_and_policy():
    scenario = import_cluster(REAL / "definitions.json").scenario
    assert len(scenario["queues"]) == 31
    assert len(scenario["policies"]) == 7
    assert {queue["queue"].partition("::")[0] for queue in scenario["queues"] if "::" in queue["queue"]} == {"shop"}
    assert sum("::" in queue["queue"] for queue in scenario["queues"]) == 12
    assert sum(queue.get("type") == "quorum" for queue in scenario["queues"]) == 4
    assert scenario["cluster"]["version"] == "3.10"
    assert scenario["steps"] == []
    assert {
        "name": "ttl-10min",
        "pattern": r"^orders\.tmp\.",
        "definition": {"message-ttl": 600000},
        "priority": 10,
        "apply_to": "queues",
        "vhost": "/",
    } in scenario["policies"]


@pytest.mark.parametrize("listing", [None, *LISTINGS], ids=lambda file: file.name if file else "none")
def test_import_drops_users_hashes_and_permissions(listing: Path | None):
    result = import_cluster(REAL / "definitions.json", [listing] if listing else [])
    assert not SECRET.search(json.dumps(result.scenario))
    assert not SECRET.search("\n".join(result.notes))
    assert noted(result, "3 users, 4 permissions, 0 topic permissions: dropped")


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ("3.6.16", "3.8"), ("3.8.9", "3.8"), ("3.9.13", "3.8"), ("3.10.8", "3.10"), ("3.11.5", "3.10"),
        ("3.12.1", "3.13"), ("3.13.7", "3.13"), ("4.0.5", "4.0"), ("4.2.1", "4.3"),
        ("4.1.0", "4.0"), ("4.3.6", "4.3"), ("%%VSN%%", None),
        ("4", None), ("3.²", None),
    ],
)  # fmt: skip
def test_release_is_mapped_to_the_nearest_profile(tmp_path: Path, release: str, expected: str | None):
    assert nearest(release) == expected
    result = imported(tmp_path, EXPORT | {"rabbitmq_version": release})
    assert result.scenario["cluster"]["version"] == (expected or "3.8")
    found = release if expected else f"no release: a text of length {len(release)}"
    assert noted(result, "profile", found) == (release not in {exact.release for exact in PROFILES.values()})


def test_accepted_versions_are_profiles_or_between_two_of_the_newest():
    assert [*PROFILES] == [version for version in get_args(Version) if version not in ("4.1", "4.2")]
    assert {version: nearest(version) for version in get_args(Version)} == {name: name for name in PROFILES} | {
        "4.1": "4.0", "4.2": "4.3",
    }  # fmt: skip


def test_content_that_is_not_imported_is_noted(tmp_path: Path):
    export = EXPORT | {
        "vhosts": [
            {"name": "/", "limits": {"max-queues": 5}, "metadata": {"default_queue_type": "quorum", "tags": []}},
            {"name": "shop"},
            {"name": "bare"},
        ],
        "parameters": [
            {"vhost": "/", "component": "federation-upstream", "name": "east", "value": {"uri": "amqp://u:secret@h"}},
            {"vhost": "/", "component": "shovel", "name": "mover", "value": {"src-uri": "amqp://u:secret@h"}},
        ],
        "global_parameters": [{"name": "cluster_name", "value": "x"}],
        "exchanges": [{"name": "events", "vhost": "shop", "type": "topic"}],
        "bindings": [
            {"source": "events", "vhost": "shop", "destination": "cart.01"},
            {"source": "amq.direct", "vhost": "/", "destination": "two.mail"},
            {"source": "", "vhost": "/", "destination": "two.mail"},
        ],
        "future": [1],
        "queues": [*EXPORT["queues"], {"name": "log", "vhost": "/", "type": "jms"}],
    }
    result = imported(tmp_path, export)
    for words in (
        ("limits", "'max-queues'"), ("metadata", "default_queue_type"), ("'bare'", "not imported"),
        ("'east'", "federation"), ("'mover'", "'shovel'"), ("global", "'cluster_name'"),
        ("'events'", "'topic'", "1 bindings", "'shop'"),
        ("'amq.direct'", "1 bindings"), ("'future'",), ("left out", "'jms'", "'/::log'"),
    ):  # fmt: skip
        assert noted(result, *words), words
    assert not noted(result, "exchange ''")
    assert not noted(result, "secret")
    assert len(result.scenario["queues"]) == 31


@pytest.mark.parametrize(("release", "carried"), [("3.10.8", True), ("3.8.9", False)])
def test_stream_is_imported_if_the_release_has_streams(tmp_path: Path, release: str, carried: bool):
    log = {"name": "log", "vhost": "/", "type": "stream", "arguments": {"x-initial-cluster-size": 5}}
    result = imported(tmp_path, EXPORT | {"rabbitmq_version": release, "queues": [log]})
    assert [entry["type"] for entry in result.scenario["queues"]] == ["stream"] * carried
    assert noted(result, "left out", "'stream'", "3.8.9 does not have") != carried


@pytest.mark.parametrize("definition", [{"expires": 9}, '{"expires": 9}', [["expires", 9]]],
                         ids=["object", "text", "pairs"])  # fmt: skip
def test_operator_policies_are_read_from_parameters(tmp_path: Path, definition: Any):
    value = {"pattern": "^a", "definition": definition, "priority": 3}
    parameter = {"vhost": "shop", "component": "operator_policy", "name": "cap", "value": value}
    result = imported(tmp_path, EXPORT | {"parameters": [parameter]})
    assert result.scenario["operator_policies"] == [
        {
            "name": "cap",
            "pattern": "^a",
            "definition": {"expires": 9},
            "priority": 3,
            "apply_to": "all",
            "vhost": "shop",
        }
    ]
    assert not noted(result, "cap")


LIMIT = {"max-length": 5000}
LISTED = {
    "object": LIMIT, "pairs": [["max-length", 5000]], "typed": [["max-length", "long", 5000]], "objects": [LIMIT],
}  # fmt: skip
EMPTY = {"object": {}, "list": [], "null": None}


@pytest.mark.parametrize("listed", LISTED.values(), ids=LISTED)
def test_property_list_may_be_an_object_or_a_list_of_pairs(tmp_path: Path, listed: Any):
    """Up to 4.2 an export has limits and operator policies as RabbitMQ keeps them."""
    policy = {"name": "cap", "vhost": "/", "pattern": "q"}
    arguments = json.loads(json.dumps(listed).replace("max-length", "x-max-length"))
    result = imported(tmp_path, {
        "rabbitmq_version": "3.10.8",
        "vhosts": [{"name": "/", "limits": listed, "metadata": listed}],
        "queues": [{"name": "q", "vhost": "/", "arguments": arguments}],
        "policies": [policy | {"definition": listed}],
        "parameters": [{"component": "operator_policy", "name": "cap", "vhost": "/",
                        "value": {"pattern": "q", "definition": listed}}],
        "exchanges": [{"name": "x", "vhost": "/", "arguments": listed}],
        "bindings": [{"source": "x", "vhost": "/", "destination": "q", "arguments": listed}],
    })  # fmt: skip
    assert result.scenario["queues"][0]["arguments"] == {"x-max-length": 5000}
    for section in ("policies", "operator_policies"):
        assert result.scenario[section][0]["definition"] == LIMIT
    assert noted(result, "limits", "'max-length'", "not imported") and noted(result, "metadata", "'max-length'")
    read_routing([tmp_path / "definitions.json"])


def test_operator_policy_may_be_a_list_of_pairs(tmp_path: Path):
    value = [["pattern", "q"], ["definition", [["max-length", 5000]]], ["priority", 1], ["apply-to", "queues"]]
    parameter = {"component": "operator_policy", "name": "cap", "vhost": "/", "value": value}
    [policy] = imported(tmp_path, {"queues": [{"name": "q", "vhost": "/"}], "parameters": [parameter]}).scenario[
        "operator_policies"]  # fmt: skip
    assert (policy["pattern"], policy["definition"], policy["priority"]) == ("q", LIMIT, 1)
    parameter["value"] = [["pattern"]]
    with pytest.raises(ImportRefused, match=r"parameters\[0\]\.value"):
        imported(tmp_path, {"queues": [], "parameters": [parameter]})


@pytest.mark.parametrize("empty", EMPTY.values(), ids=EMPTY)
def test_empty_property_list_may_be_an_object_a_list_or_null(tmp_path: Path, empty: Any):
    result = imported(tmp_path, {"vhosts": [{"name": "/", "limits": empty, "metadata": empty}],
                                 "queues": [{"name": "q", "vhost": "/", "arguments": empty}]})  # fmt: skip
    assert "arguments" not in result.scenario["queues"][0]
    assert not noted(result, "limits") and not noted(result, "metadata")


def test_nested_argument_is_read(tmp_path: Path):
    arguments = {"x-a": [["b", {"c": [1, [2]]}]]}
    result = imported(tmp_path, {"queues": [{"name": "q", "vhost": "/", "arguments": arguments}]})
    assert result.scenario["queues"][0]["arguments"] == arguments


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"x-expires": 9, "x-max-length": 10**30}, "queues[0].arguments['x-max-length']"),
        ([["x-expires", 9], ["x-max-length", 10**30]], "'x-max-length' with a value"),
        ([["x-expires", 9], ["x-expires", 8]], "each key once"),
        ([["x-expires"]], "pairs of key and value"),
        ([["x-expires", "ninth", 9]], "pairs of key and value"),
    ],
)
def test_refusal_names_the_argument(tmp_path: Path, arguments: Any, said: str):
    error = refused(tmp_path, json.dumps({"queues": [{"name": "q", "vhost": "/", "arguments": arguments}]}))
    assert said in str(error)


QUORUM = {"metadata": {"default_queue_type": "quorum"}}


@pytest.mark.parametrize(
    ("release", "vhost", "queue", "expected"),
    [
        ("4.1.2", QUORUM, {}, "quorum"),
        ("3.11.0", QUORUM, {}, "quorum"),
        (None, QUORUM, {}, "quorum"),
        ("4.1.2", {"default_queue_type": "quorum"}, {}, "quorum"),
        ("4.1.2", {"metadata": {"default_queue_type": "undefined"}, "default_queue_type": "quorum"}, {}, "quorum"),
        ("4.1.2", {"metadata": [["default_queue_type", "rabbit_quorum_queue"]]}, {}, "quorum"),
        ("4.1.2", {"metadata": {"default_queue_type": "stream"}}, {}, "stream"),
        ("4.1.2", QUORUM | {"default_queue_type": "classic"}, {}, "quorum"),
        ("4.1.2", {}, {}, "classic"),
        ("4.1.2", {"metadata": {"default_queue_type": "undefined"}}, {}, "classic"),
        ("4.1.2", {"metadata": {"default_queue_type": None}}, {}, "classic"),
        ("4.1.2", QUORUM, {"durable": False}, "classic"),
        ("4.1.2", QUORUM, {"auto_delete": True}, "classic"),
        ("4.1.2", QUORUM, {"exclusive": True}, "classic"),
        ("4.1.2", QUORUM, {"type": "classic"}, "classic"),
        ("4.1.2", QUORUM, {"arguments": {"x-queue-type": "classic"}}, "classic"),
        ("4.1.2", QUORUM, {"arguments": {"x-queue-type": "stream"}}, "stream"),
        ("3.10.8", QUORUM, {}, "classic"),
        ("3.8.9", QUORUM, {}, "classic"),
    ],
)
def test_queue_without_a_type_gets_the_default_of_its_virtual_host(
    tmp_path: Path, release: str | None, vhost: dict, queue: dict, expected: str
):
    export = {
        "rabbitmq_version": release, "vhosts": [{"name": "/"}, {"name": "apps"} | vhost],
        "queues": [{"name": "q", "vhost": "apps"} | queue, {"name": "other", "vhost": "/"}],
    }  # fmt: skip
    (tmp_path / "definitions.json").write_text(json.dumps(export))
    found = read_definitions(tmp_path / "definitions.json")
    assert {key: one.type for key, one in found.queues.items()} == {("apps", "q"): expected, ("/", "other"): "classic"}
    given = queue.get("type") or queue.get("arguments")
    text = f"queues 'q' of 'apps': no type in the file, {expected} as the default queue type there"
    assert (text in found.notes) == (expected != "classic" and not given)


def test_listing_overrides_the_queue_type(tmp_path: Path):
    (tmp_path / "queues.json").write_text(json.dumps([{"name": "q", "vhost": "apps", "type": "classic", "node": "a"}]))
    export = {"rabbitmq_version": "4.1.2", "vhosts": [{"name": "apps"} | QUORUM],
              "queues": [{"name": "q", "vhost": "apps"}]}  # fmt: skip
    result = imported(tmp_path, export, tmp_path / "queues.json")
    assert "type" not in result.scenario["queues"][0]


def test_policies_that_are_not_simulated_are_imported_unchanged(tmp_path: Path):
    policy = {"name": "f", "vhost": "/", "pattern": "", "definition": {"federation-upstream-set": "all"}}
    result = imported(tmp_path, EXPORT | {"policies": [policy | {"apply-to": "exchanges"}]})
    assert result.scenario["policies"] == [policy | {"apply_to": "exchanges", "priority": 0}]


def test_export_of_one_virtual_host_needs_its_name(tmp_path: Path):
    queue = {"name": "q", "durable": True, "arguments": {}}
    export: dict[str, Any] = {"queues": [queue], "policies": []}
    result = imported(tmp_path, export)
    assert [entry["queue"] for entry in result.scenario["queues"]] == ["q"]
    assert noted(result, "one virtual host", "'/'", "default")
    result = imported(tmp_path, export | {"original_vhost_name": "shop"})
    assert [entry["queue"] for entry in result.scenario["queues"]] == ["shop::q"]
    result = import_cluster(f"other={tmp_path / 'definitions.json'}")
    assert [entry["queue"] for entry in result.scenario["queues"]] == ["other::q"]


def test_names_with_double_colons_are_prefixed_by_the_virtual_host(tmp_path: Path):
    queues = [{"name": "a::b", "vhost": "/"}, {"name": "c::d", "vhost": "v"}, {"name": "q", "vhost": "x::y"}]
    result = imported(tmp_path, {"queues": queues})
    assert [entry["queue"] for entry in result.scenario["queues"]] == ["/::a::b", "v::c::d"]
    assert noted(result, "left out", "x::y::q")


def test_nodes_are_generated_if_no_file_names_one(tmp_path: Path):
    policy = {"name": "p", "vhost": "/", "pattern": "", "definition": {"ha-mode": "exactly", "ha-params": 5}}
    result = imported(tmp_path, {"policies": [policy]})
    assert result.scenario["cluster"]["nodes"] == ["node1", "node2", "node3", "node4", "node5"]
    assert noted(result, "invents", "'node5'")
    policy["definition"]["ha-params"] = 10**9
    assert len(imported(tmp_path, {"policies": [policy]}).scenario["cluster"]["nodes"]) == 7


WHOLE = json.dumps(EXPORT)


@pytest.mark.parametrize(
    ("text", "place", "given"),
    [
        ("", "the file", "nothing"),
        (WHOLE[:3000], "line 1, column", ""),
        ("[" * 100_000, "the file", "nested too deep"),
        ('{"queues": [], "x": ' + '{"a": ' * 100_000, "the file", "nested too deep"),
        (WHOLE.replace("600000", "NaN"), "a number", "NaN"),
        (WHOLE.replace("600000", "-Infinity"), "a number", "-Infinity"),
        (WHOLE.replace("600000", "1e999"), "policies[6].definition", "out of range"),
        (WHOLE.replace("600000", "1" * 30), "policies[6].definition", ""),
        (WHOLE.replace("600000", "1" * 30), "policies[6].definition['message-ttl']", ""),
        (WHOLE.replace('"two.mail"', '"\\ud800"'), "the whole file", "surrogate"),
        ('{"queues": [], "queues": []}', "an object", "'queues' twice"),
        ("[]", "the whole file", "a list"),
        ("{}", "the whole file", "without queues"),
        (json.dumps(EXPORT | {"queues": "x"}), "queues", "text"),
        (json.dumps(EXPORT | {"queues": None}), "queues", "null"),
        (json.dumps(EXPORT | {"queues": [{"name": None}]}), "queues[0].name", "null"),
        (json.dumps(EXPORT | {"queues": [{"name": ""}]}), "queues[0].name", ""),
        (json.dumps(EXPORT | {"queues": [{"name": "q" * 256}]}), "queues[0].name", ""),
        (json.dumps(EXPORT | {"queues": [{"name": "q"}, {"name": "q"}]}), "queues", "twice"),
        (json.dumps(EXPORT | {"users": HASHES[0]}), "users", "text"),
        (json.dumps(EXPORT | {"permissions": {"guest": 1}}), "permissions", "an object"),
        (json.dumps(EXPORT | {"policies": [{"name": "p", "pattern": "", "definition": "{"}]}), "policy 'p'", ""),
        (json.dumps(EXPORT | {"queues": [{"name": "q" * 300, "vhost": "/"}]}), "[0].name", "q…' (300 characters)"),
        (json.dumps(EXPORT | {"queues": [{"name": "", "vhost": "/"}]}), "queues[0].name", "''"),
    ],
)  # fmt: skip
def test_invalid_file_is_refused_in_one_message(tmp_path: Path, text: str, place: str, given: str):
    error = refused(tmp_path, text)
    assert place in error.place
    assert given in error.given
    assert error.accepted


def test_unreadable_and_binary_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "binary"
    file.write_bytes(b"\x83h\x02\xff\xfe")
    for missing in (file, tmp_path, tmp_path / "none"):
        with pytest.raises(ImportRefused, match=str(missing)):
            import_cluster(missing)
    monkeypatch.setattr(untrusted, "MAX_BYTES", 100)
    with pytest.raises(ImportRefused, match="more than 100 bytes"):
        import_cluster(REAL / "definitions.json")


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("\ud800") | st.just("::"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def spots(value: Any) -> list[tuple[Any, Any]]:
    """Return each (container, key) below a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [spot for key, inner in items for spot in ((value, key), *spots(inner))]


@given(st.data())
def test_mutated_export_is_imported_or_refused(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject):
    export = copy.deepcopy(EXPORT)
    for _ in range(data.draw(st.integers(1, 4))):
        if places := spots(export):
            container, key = data.draw(st.sampled_from(places))
            if data.draw(st.booleans()):
                container[key] = data.draw(ODD)
            else:
                del container[key]
    listing = data.draw(st.sampled_from(LISTINGS))
    try:
        result = imported(tmp_path_factory.getbasetemp(), export, listing)
    except ImportRefused as refusal:
        assert not SECRET.search(str(refusal).replace(str(tmp_path_factory.getbasetemp()), ""))
        return
    left_out = sum(len(re.findall(r"'[^']*'", note)) for note in result.notes if note.startswith("queues left out"))
    assert len(result.scenario["queues"]) + left_out >= len(export.get("queues", ()))
    msgspec.convert(result.scenario, Scenario)


@given(data=st.data())
def test_truncated_export_is_refused(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject):
    end = data.draw(st.integers(0, len(WHOLE) - 1))
    refused(tmp_path_factory.getbasetemp(), WHOLE[:end])


def test_obsolete_policy_settings_have_no_effect(tmp_path: Path):
    def policy(name: str, **definition: object) -> dict[str, object]:
        definition = {key.replace("_", "-"): value for key, value in definition.items()}
        return {"vhost": "/", "name": name, "pattern": "^q", "apply-to": "queues", "priority": 0,
                "definition": definition}  # fmt: skip

    policies = [policy("ha", ha_mode="all"), policy("both", ha_mode="all", max_length=9), policy("limit", max_length=5)]
    of = {"vhosts": [{"name": "/"}], "queues": [], "policies": policies}
    found = imported(tmp_path, of | {"rabbit_version": "4.0.5"})
    kept = {one["name"]: one["definition"] for one in found.scenario["policies"]}
    assert kept == {"both": {"max-length": 9}, "limit": {"max-length": 5}}
    assert noted(found, "policy 'ha'", "RabbitMQ 4.0.5 does not know 'ha-mode': left out; without these settings the"
                 " policy is empty")
    assert len(imported(tmp_path, of | {"rabbit_version": "3.13.7"}).scenario["policies"]) == 3
