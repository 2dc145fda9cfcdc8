"""Compilation: once per combination of types and parts, whatever the constants."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numba import njit, types

from hawb.raft import election, ports, replication
from hawb.study.compiled import Assembly, Binding, inner, with_parts
from hawb.study.kernel import (
    arrival,
    block,
    boot_order,
    closing,
    flows,
    going_down,
    host_ports,
    hosting,
    mirror_ports,
    node_ports,
    node_rules,
    partitioned_trial,
    quorum_trial,
    raft,
    raft_ports,
    state,
    steady,
    trial,
    upkeep,
)
from hawb.study.kernel.state import TRIAL


def product(a, b=7):
    return a * b


def test_constants_and_defaults_do_not_cause_recompilation():
    times = inner(product)
    through = inner(lambda a, b=5: times(a, b))

    @njit
    def calls(x):
        return times(x, 2), times(3, x), times(4, 5), through(x), through(x, 6)

    assert calls(10) == (20, 30, 20, 50, 60)
    assert times.signatures == [(types.int64, types.int64)]


def test_default_argument_is_kept():
    times = inner(product)
    assert njit(lambda x: times(x))(10) == 70


def test_only_functions_called_by_python_become_machine_code():
    times = inner(product)
    by_python = njit(lambda x, y: times(x, y))
    assert by_python(6, 7) == 42
    assert [address(times), address(by_python) > 0] == [0, True]


def address(function):
    """Return the address of a compiled function's machine code, or 0."""
    (result,) = function.overloads.values()
    return result.library.get_pointer_to_function(result.fndesc.llvm_func_name)


IDLE = {trial.look_after: inner(lambda t: None), trial.act: inner(lambda t, what, nodes: None)}
"""Parts of a trial in which nothing happens: its own take a quarter of a minute to compile."""


def played_with(parts: dict, trials: np.ndarray, horizon_us: int) -> None:
    """Play a trial with replaced parts from Python, which cannot call functions that only compiled ones call."""
    play = with_parts(trial.play, parts | IDLE)
    njit(lambda t, history, end_us: play(t, history, end_us))(trials[0], np.empty((0, 3), np.int64), horizon_us)


def test_function_with_replaced_parts_is_compiled_from_its_own_code():
    @inner
    def stand(t):
        t.moment.poll_us = 7

    @inner
    def before(t, time_us):
        t.moment.now_us = time_us + t.moment.poll_us

    trials = np.zeros(1, TRIAL)
    played_with({trial.set_up: stand, trial.play_until: before}, trials, 5)
    assert trials["moment"]["now_us"] == 12
    assert with_parts(trial.play, {}) is trial.play


def reads(number):
    """Part of a trial that takes no time, and leaves a number behind."""

    @inner
    def before(t, time_us):
        t.moment.now_us = number

    return before


def test_functions_with_different_parts_are_not_confused():
    trials, stand = np.zeros(1, TRIAL), inner(lambda t: None)
    for number in (3, 8):
        played_with({trial.set_up: stand, trial.play_until: reads(number)}, trials, 0)
        assert trials["moment"]["now_us"] == number


def test_cached_function_has_a_unique_name():
    parts = with_parts(block.played, {trial.set_up: quorum_trial.set_up})
    assert parts.py_func.__qualname__ != block.played.py_func.__qualname__
    assert parts._cache.cache_path == block.played._cache.cache_path
    assert with_parts(block.played, {trial.set_up: reads(1)})._cache.cache_path is None


def test_parts_are_found_at_any_depth():
    @inner
    def next_change_us(t):
        return 11

    @inner
    def look(t):
        t.moment.poll_us = 99

    parts = Assembly({steady.next_change_us: next_change_us, upkeep.look: look})
    assert parts.of(upkeep.next_us) is not upkeep.next_us
    assert parts.of(trial.play_until).py_func.__globals__["next_us"] is parts.of(upkeep.next_us)
    assert parts.of(trial.set_up) is trial.set_up


def test_part_can_call_other_parts_and_the_replaced_one():
    @inner
    def are_connected(t):
        return True

    parts = {upkeep.is_content: partitioned_trial.is_content, upkeep.are_connected: are_connected}
    part = with_parts(upkeep.look, parts).py_func.__globals__["is_content"]
    replaced = part.py_func.__globals__["has_what_they_want"]
    assert part.py_func.__code__ is partitioned_trial.is_content.py_func.__code__
    assert replaced.py_func.__code__ is upkeep.is_content.py_func.__code__
    assert replaced.py_func.__globals__["are_connected"] is are_connected


def test_recursive_part_is_refused():
    with pytest.raises(TypeError, match="leave calls itself"):
        with_parts(flows.flow, {closing.lag_us: steady.leave})


def test_function_with_replaced_parts_may_return_arrays():
    parts = {state.next_number: inner(lambda t: 1)}
    assert with_parts(mirror_ports.wanted, parts).targetoptions["_nrt"]
    assert not with_parts(state.put_on_agenda, parts).targetoptions["_nrt"]


# A protocol with ports of its own


def test_shared_module_is_compiled_with_the_ports_of_the_kernel():
    assert raft.append.py_func.__code__ is replication.append.__code__
    assert raft.append.py_func.__globals__["append_entries"] is raft_ports.append_entries
    assert replication.append.__globals__["append_entries"] is ports.append_entries


def test_bindings_share_compiled_functions():
    come_up = boot_order.come_up.py_func.__globals__
    assert come_up["look_again"] is node_rules.look_again
    assert come_up["run_pending_removals"] is arrival.run_pending_removals
    assert come_up["notice_pending_down"] is going_down.notice_pending_down
    assert boot_order.boot.py_func.__globals__["wait_with_boot"] is node_ports.wait_with_boot


def test_callees_of_a_shared_module_are_compiled_once_with_the_same_ports():
    replicate = raft.append.py_func.__globals__["replicate"]
    assert replicate is raft.PROTOCOL.of(replication.replicate)
    assert replicate.py_func.__globals__["peers_of"] is raft_ports.peers_of


def test_missing_port_raises_at_once():
    with pytest.raises(AttributeError, match="no_such_port"):
        Binding([*ports.PORTS, "no_such_port"], raft_ports)


def test_rule_and_port_of_one_name_are_refused():
    named = Binding(["may_vote"], SimpleNamespace(may_vote=None))
    with pytest.raises(TypeError, match=r"on_request_vote calls a rule beside it by the name of a port: .'may_vote'."):
        named.of(election.on_request_vote)


def test_port_can_be_a_replaced_part():
    parts = Assembly({raft_ports.configured_at: inner(lambda t, member: 7)})
    assert parts.of(hosting.message_arrives) is not hosting.message_arrives
    assert parts.of(host_ports.plan_arrival) is host_ports.plan_arrival


@pytest.mark.parametrize("folder", ["", "numba"])
def test_kernels_of_different_versions_never_share_a_folder(folder: str, tmp_path: Path):
    """This holds also if NUMBA_CACHE_DIR is set, as containers do."""
    program = "from hawb.study.compiled import COMPILED, config, digest; print(config.CACHE_DIR, digest(COMPILED))"
    where = {"NUMBA_CACHE_DIR": str(tmp_path / folder)} if folder else {}
    where |= {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", program]
    kept, digest = subprocess.run(command, env=where, check=True, capture_output=True, text=True).stdout.split()
    assert Path(kept) == tmp_path / (folder or ".cache") / "hawb" / digest


@pytest.mark.full
def test_second_process_loads_the_compiled_cache(tmp_path: Path):
    (tmp_path / "kept_sum.py").write_text("def total(a, b):\n    return a + b\n")
    program = (
        "import sys; from kept_sum import total; from hawb.study.compiled import compiled; total = compiled(total);"
        "print('ready', flush=True); sys.stdin.readline(); total(1, 2); print(sum(total.stats.cache_misses.values()))"
    )
    paths = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])])
    environment = os.environ | {"PYTHONPATH": paths, "NUMBA_CACHE_DIR": str(tmp_path)}
    begun = [
        subprocess.Popen(
            [sys.executable, "-c", program], env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) for _ in range(2)
    ]  # fmt: skip
    for one in begun:
        assert one.stdout.readline() == "ready\n"
    for one in begun:
        one.stdin.write("\n")
        one.stdin.flush()
    assert sorted(one.communicate()[0] for one in begun) == ["0\n", "1\n"]
