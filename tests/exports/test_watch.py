"""`hawb watch` against a server on loopback that answers as a real cluster's management API did (data/real)."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner, Result
from management_api import LOGIN, REAL, Server, serving

from hawb.cli import main
from hawb.exports.imported import import_cluster
from hawb.exports.watch import ApiRefused, checked, watch
from hawb.scenario.load import load


@pytest.fixture
def api() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def login(monkeypatch) -> None:
    monkeypatch.setenv("HAWB_API_USER", LOGIN.user)
    monkeypatch.setenv("HAWB_API_PASSWORD", LOGIN.password)


def run(*arguments: object, given: str | None = None) -> Result:
    return CliRunner().invoke(main, ["watch", *map(str, arguments)], input=given)


# --- what is read ---


def test_running_cluster_is_read_as_its_export(api: Server) -> None:
    listings = [REAL / f"api-{name}.json" for name in ("queues", "nodes", "overview")]
    exported = import_cluster(REAL / "definitions.json", listings).scenario
    watched = watch(api.url, LOGIN).scenario
    assert watched["cluster"] == exported["cluster"]
    for part, key in (("policies", "name"), ("queues", "queue")):
        in_order, expected = (sorted(item[part], key=itemgetter(key)) for item in (watched, exported))
        assert in_order == expected


def test_operator_policies_are_read(api: Server) -> None:
    (policy,) = watch(api.url, LOGIN).scenario["operator_policies"]
    assert (policy["name"], policy["definition"], policy["priority"]) == ("cap", {"max-length": 9}, 1)


def test_definitions_with_password_hashes_are_not_requested(api: Server) -> None:
    watch(api.url, LOGIN)
    assert {urlsplit(path).path.removeprefix("/api/") for path in api.asked} == {
        "vhosts", "policies", "operator-policies", "queues", "nodes", "overview",
    }  # fmt: skip


def test_address_may_have_a_path_and_a_trailing_slash() -> None:
    assert checked("https://host/rabbit/") == checked("https://host/rabbit") == "https://host/rabbit"


# --- what is refused ---


@pytest.mark.parametrize(
    "url", ["127.0.0.1:15672", "ftp://host", "http://", "http://user:word@host:15672", "http://host/?vhost=a",
            "http://[::1:15672"]
)
def test_invalid_address_is_refused_before_any_request(url: str) -> None:
    with pytest.raises(ApiRefused, match=r"accepted: one (such as|without)"):
        watch(url, LOGIN)


@pytest.mark.parametrize(
    ("path", "answer", "said"),
    [
        ("vhosts", (403, b""), "status 403: the user is not allowed to see this"),
        ("queues", (404, b""), "status 404: no such page"),
        ("queues", (503, b""), "status 503"),
        ("policies", (200, b"<html>"), "the answer is not JSON"),
        ("operator-policies", (200, b'{"error": "x"}'), "the answer is not a list of policies"),
    ],
)
def test_unusable_response_is_explained(api: Server, path: str, answer: tuple, said: str) -> None:
    api.answers[f"/api/{path}"] = answer
    with pytest.raises(ApiRefused, match=said):
        watch(api.url, LOGIN)


def test_redirect_is_not_followed_with_the_password(api: Server) -> None:
    with Server() as other:
        api.answers["/api/nodes"] = (302, f"{other.url}/api/nodes")
        with pytest.raises(ApiRefused, match="status 302: the answer is a redirect, which hawb does not follow"):
            watch(api.url, LOGIN)
    assert other.asked == []


def test_refused_connection_is_reported(api: Server) -> None:
    with Server() as gone:
        url = gone.url
    with pytest.raises(ApiRefused, match="refused"):
        watch(url, LOGIN)


# --- the command ---


def test_command_writes_the_scenario(api: Server, login, tmp_path) -> None:
    file = tmp_path / "now.yaml"
    result = run("--api", api.url, "-o", file)
    assert (result.exit_code, result.stdout) == (0, "")
    assert load(file).known_nodes == ("a@10.77.9.1", "b@10.77.9.2", "c@10.77.9.3")
    assert "note: " in result.stderr
    assert LOGIN.password not in result.output + file.read_text()


def test_login_is_prompted_if_the_environment_has_none(api: Server, monkeypatch, tmp_path) -> None:
    for name in ("HAWB_API_USER", "HAWB_API_PASSWORD"):
        monkeypatch.delenv(name, raising=False)
    result = run("--api", api.url, "-o", tmp_path / "now.yaml", given="\n".join([*LOGIN, ""]))
    assert result.exit_code == 0
    assert LOGIN.password not in result.output


def test_failed_login_message_does_not_contain_the_password(api: Server, monkeypatch, login, tmp_path) -> None:
    monkeypatch.setenv("HAWB_API_PASSWORD", "an0ther-word")
    result = run("--api", api.url, "-o", tmp_path / "now.yaml")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "status 401: the user or the password is wrong" in result.stderr
    assert "an0ther-word" not in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_response_of_another_server_is_refused(api: Server, login, tmp_path) -> None:
    api.answers["/api/queues"] = (200, b'[{"name": 7}]')
    result = run("--api", api.url, "-o", tmp_path / "now.yaml")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "queues" in result.stderr


def test_a_login_is_not_shown() -> None:
    assert LOGIN.password not in repr(LOGIN)
