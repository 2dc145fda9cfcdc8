"""Commands keep hawb's promises for any input: former finds, and randomly changed inputs."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random

import attack
import player
import pytest
from click import command, echo
from mutations import HUGE, LARGE, enlarged
from tries import COMMANDS, STDIN, Try, as_seeded, drawn

from hawb.cli.files import Refusing

SECONDS = float(os.environ.get("HAWB_ATTACK_S", 15))
TRIES = len(COMMANDS) * 50
"""As many for each command; `make attack` goes on for as long as it is asked to."""
KEPT = sorted(file for file in attack.KEPT.iterdir() if file.is_dir())
ONE = Try(("run", "story.yaml"), {"story.yaml": b"scenario: a\n"})


@pytest.fixture(scope="module")
def playing() -> Iterator[attack.Player]:
    """Yield a process that plays tries within their limits of time and memory."""
    process = attack.Player()
    yield process
    process.end()


@pytest.mark.parametrize("folder", KEPT, ids=lambda folder: folder.name)
def test_former_find_stays_fixed(folder: Path, playing: attack.Player) -> None:
    _, status, wrong = playing.play(attack.kept(folder))
    assert not wrong, status


@pytest.mark.full
def test_randomly_changed_inputs_break_no_promise() -> None:
    found = attack.attack(0, TRIES if SECONDS <= 15 else 10**9, SECONDS)
    assert not found.finds, found.summary()


@pytest.mark.full
@pytest.mark.parametrize("name", COMMANDS)
def test_unchanged_inputs_break_no_promise(name: str) -> None:
    played = {one.words: player.in_folder(one) for one in as_seeded(name, player.own_numbers())}
    assert not {words: wrong for words, (_, wrong) in played.items() if wrong}
    assert {status for status, _ in played.values()} - {2}


def connect() -> None:
    """Connect to a local port on which no process listens."""
    with socket.socket() as connecting, suppress(OSError):
        connecting.connect(("127.0.0.1", 1))


def start() -> None:
    """Start a program that writes a file."""
    subprocess.run([sys.executable, "-c", "open('other', 'w')"], check=True)


def fail() -> None:
    """Fail as a command with a fault does."""
    raise KeyError("a")


@pytest.mark.parametrize(
    ("does", "wrong"),
    [
        (lambda: None, []),
        (lambda: sys.exit(3), []),
        (start, []),
        (lambda: Path("out.html").write_text("a"), []),
        (fail, ["exit status 70: hawb failed: KeyError"]),
        (lambda: sys.exit(4), ["exit status 4: "]),
        (lambda: echo("a\x1b[31m"), ["prints an answer with U+001B"]),
        (lambda: echo("\u2028", err=True), ["prints a message with U+2028"]),
        (lambda: Path("other").touch(), ["writes other"]),
        (lambda: Path("story.yaml").unlink(), ["changes story.yaml"]),
        (lambda: Path("story.yaml").write_text("b"), ["changes story.yaml"]),
        (lambda: Path("../beside").mkdir(), ["os.mkdir outside its folder: "]),
        (lambda: Path("../beside").touch(), ["open outside its folder: "]),
        (lambda: player.tempfile.mkdtemp(prefix="hawb-x"), ["leaves the folder hawb-x"]),
        (connect, ["connects to ('127.0.0.1', 1)"]),
    ],
)
def test_broken_promise_is_detected(
    does: Callable[[], object], wrong: Sequence[str], monkeypatch, tmp_path: Path
) -> None:
    group = Refusing(commands=[command("run", context_settings={"ignore_unknown_options": True})(lambda: does())])
    monkeypatch.setattr(player, "main", group)
    (tmp_path / "try").mkdir()
    _, seen = player.play(Try(("run",), ONE.files), tmp_path / "try")
    assert len(seen) == len(wrong)
    assert all(map(str.startswith, seen, wrong))


def test_memory_of_a_try_is_limited() -> None:
    program = "import player; player.limit(); bytearray(player.MEMORY // 2); bytearray(player.MEMORY * 2)"
    done = subprocess.run([sys.executable, "-c", program], cwd=Path(player.__file__).parent, capture_output=True,
                          text=True, env={**os.environ, "PYTHONPATH": str(attack.ROOT)})  # fmt: skip
    assert done.stderr.splitlines()[-1] == "MemoryError"


@pytest.mark.parametrize(
    ("ends", "wrong"),
    [("os.kill(os.getpid(), signal.SIGPROF)", "takes more than 20 s"), ("os._exit(7)", "ends the process: 7")],
)
def test_end_of_the_process_is_a_find_and_it_is_restarted(
    ends: str, wrong: str, monkeypatch, tmp_path: Path
) -> None:
    program = tmp_path / "program.py"
    program.write_text(f"import os, signal, sys\nwhile input() == '7': print('[\"run\", 0, []]', flush=True)\n{ends}\n")
    monkeypatch.setattr(player, "__file__", str(program))
    playing = attack.Player()
    played = [playing.play(number) for number in (7, 8, 7)]
    playing.end()
    assert played == [["run", 0, []], (drawn(8, playing.numbers).command, None, [wrong]), ["run", 0, []]]
    assert signal.getsignal(signal.SIGPROF) is signal.SIG_DFL


def test_same_number_gives_the_same_try() -> None:
    tries = [drawn(number) for number in range(65)]
    assert tries == [drawn(number) for number in range(65)]
    assert {one.command for one in tries} == set(COMMANDS)
    assert any(STDIN in one.files for one in tries)
    assert len({player.as_text(one) for one in tries}) > len(tries) * 0.9


def test_some_inputs_are_large_and_all_named_files_exist() -> None:
    tries = [drawn(number, b"{}") for number in range(600)]
    sizes = [sum(map(len, one.files.values())) for one in tries]
    assert 0 < sum(size > LARGE[0] / 2 for size in sizes) < len(tries) / 20 and max(sizes) < 2 * HUGE[1]
    for name, option in (("after.json", "--after"), ("numbers.yaml", "--numbers")):
        asked = [one for one in tries if name in one.words]
        assert asked and all(option in one.words and name in one.files for one in asked)


def test_one_of_ten_large_inputs_has_up_to_10_mb() -> None:
    sizes = [len(enlarged(Random(seed), "a.log", b"a\n")) for seed in range(100)]
    assert 0 < sum(size > HUGE[0] for size in sizes) < 25 and max(sizes) < HUGE[1]


def test_find_is_shrunk_and_stored(tmp_path: Path) -> None:
    class Playing(attack.Player):
        """Finds each file that holds an x."""

        def play(self, one: int | Try) -> tuple[str, int | None, list[str]]:
            return "run", 70, ["broken"] if b"x" in one.files["story.yaml"] else []

    one = Try((*ONE.words, "--report", "a b.html"), {"story.yaml": b"a\nb\ncxd\ne\n", STDIN: b"\xff\n"})
    less = attack.smaller(one, "broken", Playing())
    assert less == Try(one.words, {"story.yaml": b"x", STDIN: b""})
    assert attack.kept(attack.keep(one, tmp_path)) == one
