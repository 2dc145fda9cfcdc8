"""`hawb safe --live` for hooks and cron jobs: exit status, one line, and no password in the output."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from click.testing import CliRunner, Result
from management_api import LOGIN, REAL, Server, listing, quorum_queue, serving

from hawb.cli import main

NODES = A, B, C = "a@10.77.9.1", "b@10.77.9.2", "c@10.77.9.3"


@pytest.fixture
def api(monkeypatch) -> Iterator[Server]:
    monkeypatch.setenv("HAWB_API_USER", LOGIN.user)
    monkeypatch.setenv("HAWB_API_PASSWORD", LOGIN.password)
    with serving() as server:
        yield server


def safe(*arguments: object, **options: object) -> Result:
    return CliRunner().invoke(main, ["safe", *map(str, arguments)], **options)


def test_yes_is_a_line_and_exit_status_0(api: Server):
    api.answers["/api/queues"] = listing(quorum_queue(*NODES))
    result = safe("--live", api.url, "--node", A)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"✓ {A}: Yes: {A} may be stopped; nothing is lost and every queue stays in use.\n"


def test_no_is_a_line_and_exit_status_1(api: Server):
    result = safe("--live", api.url, "--node", B)
    assert (result.exit_code, result.stderr) == (1, "")
    assert result.stdout.startswith(f"✕ {B}: No: stopping {B} loses 5 messages of plain.transient")
    assert result.stdout.count("\n") == 1


def test_offline_member_on_a_running_node_is_reported(api: Server):
    api.answers["/api/queues"] = listing(quorum_queue(*NODES, online=(A, B)))
    result = safe("--live", api.url, "--node", A)
    assert result.exit_code == 1
    assert result.stdout == f"✕ {A}: No: stopping {A} leaves qq out of use.\n"
    assert safe("--live", api.url, "--node", C).exit_code == 0


def test_each_node_has_a_line_without_node_option(api: Server):
    result = safe("--live", api.url, "--format", "line")
    assert result.exit_code == 1
    assert [line.split()[1] for line in result.stdout.splitlines()] == [f"{A}:", f"{B}:", f"{C}:"]


def test_answer_agrees_with_that_for_the_export(api: Server):
    """The server answers with the listings of the export."""
    files = (REAL / f"{name}.json" for name in ("definitions", "api-queues", "api-nodes", "api-overview"))
    answer, exported = safe("--live", api.url, "--json"), safe(*files, "--json")
    assert answer.exit_code == exported.exit_code == 1
    assert json.loads(answer.stdout) == json.loads(exported.stdout)


def test_full_report_states_what_the_api_does_not_provide(api: Server):
    result = safe("--live", api.url, "--node", B, "--format", "text")
    assert result.exit_code == 1
    assert "What to do" in result.stdout
    assert "scenario's defaults are used" in result.stdout.splitlines()[-1] and result.stderr == ""


def test_node_that_does_not_run_is_unknown(api: Server):
    result = safe("--live", api.url, "--node", "rabbit@d")
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"{api.url}: --node: 'rabbit@d' is not a running node; these run: {A}, {B}" in result.stderr


def test_refused_connection_is_reported_as_unknown():
    with Server() as gone:
        url = gone.url
    result = safe("--live", url, "--node", A, env=dict(zip(("HAWB_API_USER", "HAWB_API_PASSWORD"), LOGIN, strict=True)))
    assert (result.exit_code, result.stdout) == (2, "")
    assert url in result.stderr and "refused" in result.stderr


def test_failed_login_message_does_not_contain_the_password(api: Server, monkeypatch):
    monkeypatch.setenv("HAWB_API_PASSWORD", "an0ther-word")
    result = safe("--live", api.url, "--node", A)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "status 401: the user or the password is wrong" in result.stderr
    assert "an0ther-word" not in result.stderr


def test_missing_login_is_reported_as_unknown(api: Server, monkeypatch):
    monkeypatch.delenv("HAWB_API_PASSWORD")
    result = safe("--live", api.url, "--node", A, input="")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "HAWB_API_PASSWORD: not given\n  accepted: an environment variable" in result.stderr


def test_response_of_another_server_names_the_address(api: Server):
    api.answers["/api/queues"] = listing({"name": 7})
    result = safe("--live", api.url, "--node", A)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"{api.url}/api/queues: the whole file\n  given: a listing of something else\n")


def test_a_cluster_without_queues_may_be_stopped(api: Server):
    api.answers["/api/queues"] = listing()
    result = safe("--live", api.url, "--node", A)
    assert (result.exit_code, result.stderr) == (0, "")


def test_an_address_with_a_password_is_not_repeated():
    for url in (f"ftp://u:{LOGIN.password}@host", f"http://u:{LOGIN.password}@host"):
        result = safe("--live", url, "--node", A)
        assert (result.exit_code, result.stdout) == (2, "")
        assert LOGIN.password not in result.stderr


@pytest.mark.parametrize("arguments", [(), ("--live", "http://127.0.0.1:1", "cluster.yaml")])
def test_files_or_an_address_but_one_of_them(arguments: tuple):
    result = safe(*arguments)
    assert result.exit_code == 2
    assert "Give either FILES or --live with an address." in result.stderr
