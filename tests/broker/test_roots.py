"""The release of RabbitMQ that plays a scenario, and the installation of a missing one. Nothing is downloaded."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from hawb.broker import roots
from hawb.broker.real import broker_for
from hawb.broker.roots import SUITES, CannotPlay, Release
from hawb.cli import every_command, main
from hawb.rules.profiles import PROFILES
from hawb.scenario.load import load

LISTED = "http://mirror.example/debian/\nhttp://other.example/debian/\n"


@pytest.fixture
def machine(monkeypatch, tmp_path) -> Path:
    """Simulate a machine without RabbitMQ whose programs are those in `bin`."""
    programs = tmp_path / "bin"
    programs.mkdir()
    program(programs / "apt-get", f"printf '{LISTED}'")
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(roots, "HOME", tmp_path / "rabbitmq")
    return tmp_path


def program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh -e\n{script}\n")
    path.chmod(0o755)


def with_debootstrap(machine: Path, release: str) -> None:
    """Replace `unshare` and debootstrap by a script that installs a release."""
    program(machine / "bin" / "debootstrap", "exit 1")
    inner = machine.joinpath("rabbitmq", "lib", f"rabbitmq_server-{release}", "plugins")
    program(
        machine / "bin" / "unshare",
        f'echo "$@" >> {machine}/asked\n'
        f'for word; do case $word in *.unfinished) mkdir -p "$word/etc" "$word{inner}";; esac; done',
    )


# --- which release ---


@pytest.mark.parametrize(("written", "asked"), [("3.8", "3.8"), ("3.10", "3.10"), ("3.13", "3.10"), ("4.0", "4.0"),
                                                 ("4.3", "4.3")])
def test_scenario_is_played_by_the_broker_of_its_version_if_there_is_one(written: str, asked: str) -> None:
    scenario = load(f"scenario: x\ncluster: {{nodes: [a], version: '{written}'}}\nsteps: []\n")
    assert broker_for(scenario) == asked


def test_command_offers_every_available_broker() -> None:
    assert set(SUITES) <= set(PROFILES)
    options = [each for command in every_command().values() for each in command.params if each.name == "broker"]
    assert len(options) >= 2
    assert {tuple(option.type.choices) for option in options} == {tuple(SUITES)}


def test_broker_option_needs_a_run_on_a_broker(tmp_path) -> None:
    result = CliRunner().invoke(main, ["run", "--broker", "3.8", str(tmp_path / "x.yaml")])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--broker needs --on broker" in result.stderr


def test_version_without_a_broker_is_refused() -> None:
    with pytest.raises(CannotPlay, match=r"no real broker .* version 3\.13; available: 3\.8, 3\.10, 4\.0, 4\.3"):
        roots.release("3.13")


def test_installed_release_of_the_machine_is_used_if_it_matches(machine) -> None:
    (machine / "rabbitmq" / "lib" / "rabbitmq_server-3.10.8" / "plugins").mkdir(parents=True)
    assert roots.release("3.10") == Release("3.10", Path("/"))
    assert roots.found("3.8") is None


# --- programs ---


def test_program_of_the_machines_release_runs_directly() -> None:
    assert Release("3.10").command(["erl", "-noinput"], Path("/tmp/x")) == ["erl", "-noinput"]


def test_program_of_another_release_runs_in_its_root_and_mount_namespace() -> None:
    command = Release("3.8", Path("/roots/3.8")).command(["erl", "-noinput"], Path("/tmp/x"))
    assert command[:2] == ["unshare", "--mount"]
    assert command[-4:] == ["/roots/3.8", "/tmp/x", "erl", "-noinput"]
    assert "exec chroot" in command[4]


# --- installing ---


def test_release_is_installed_once_from_the_configured_mirror(machine, caplog) -> None:
    with_debootstrap(machine, "3.8.9")
    root = machine / "cache" / "hawb" / "brokers" / "3.8"
    assert roots.release("3.8") == Release("3.8", root) == roots.release("3.8")
    (asked,) = (machine / "asked").read_text().splitlines()
    assert asked.endswith(f" bullseye {root}.unfinished http://mirror.example/debian/")
    assert "--include=rabbitmq-server,iproute2,adduser" in asked
    assert "localhost" in (root / "etc" / "hosts").read_text()
    assert "RabbitMQ 3.8.9 of Debian bullseye" in caplog.text


def test_unknown_debian_suite_is_installed_with_the_script_of_sid(machine, monkeypatch) -> None:
    with_debootstrap(machine, "4.3.6")
    monkeypatch.setattr(roots, "SCRIPTS", machine / "scripts")
    (machine / "scripts").mkdir()
    program(machine / "scripts" / "sid", "")
    roots.release("4.3")
    assert (machine / "asked").read_text().endswith(f"http://mirror.example/debian/ {machine}/scripts/sid\n")


def test_failed_installation_shows_its_error_and_leaves_no_files(machine) -> None:
    with_debootstrap(machine, "3.8.9")
    with (machine / "bin" / "unshare").open("a") as script:
        script.write("\necho 'I: Retrieving' && echo 'E: Failed getting release file' && exit 1\n")
    with pytest.raises(CannotPlay, match=r"Debian bullseye from http://mirror\.example/debian/: E: Failed getting"):
        roots.release("3.8")
    assert [path.name for path in (machine / "cache" / "hawb" / "brokers").iterdir()] == ["lock"]


def test_mirror_with_another_release_is_refused(machine) -> None:
    with_debootstrap(machine, "4.0.9")
    with pytest.raises(CannotPlay, match=r"another release than RabbitMQ 4\.0\.5 of Debian trixie"):
        roots.release("4.0")
    assert roots.found("4.0") is None


def test_missing_debootstrap_error_names_its_package(machine, monkeypatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(CannotPlay, match=r"RabbitMQ 3\.8\.9 of Debian bullseye needs debootstrap \(apt-get install"):
        roots.release("3.8")


@pytest.mark.parametrize("apt", ["exit 100", "exit 0"])
def test_missing_mirror_error_names_etc_apt(machine, apt: str) -> None:
    with_debootstrap(machine, "3.8.9")
    program(machine / "bin" / "apt-get", apt)
    with pytest.raises(CannotPlay, match=r"no Debian mirror .*/etc/apt"):
        roots.release("3.8")
