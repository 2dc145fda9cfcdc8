"""Search in one process: the engine starts, and the compiled search takes over if there is much to do. The answer is
the same.

`make test-full` compiles the search of one kind of queue, and of another one the next day.
"""

from __future__ import annotations

import sys
from itertools import pairwise

import pytest
from samples import of_the_day

from hawb.planning.explore import Progress, Question, explore
from hawb.planning.moves import Spent
from hawb.scenario.load import load
from hawb.scenario.run import Run
from hawb.study import local_search

STORY = """
scenario: A queue
cluster: {{nodes: [a, b, c], version: "{version}"}}
policies: [{{name: p, pattern: ^q, definition: {{{definition}}}}}]
steps:
  - declare: {{queue: q, node: a, arguments: {arguments}}}
  - publish: {{queue: q, count: 5}}
"""
ASKED = Question("lost-confirmed", Spent(1, 2), frozenset({"partition", "wait", "publish", "heal"}))


QUORUM = "{x-queue-type: quorum}"


def run(arguments: str = "{}", version: str = "3.10") -> Run:
    definition = "ha-mode: exactly, ha-params: 2" if version == "3.10" else "delivery-limit: 5"
    return Run.of(load(STORY.format(arguments=arguments, version=version, definition=definition)))


def searched(of: Run) -> tuple[list[Progress], int]:
    """Return the progress of a search, and how often compilation was announced."""
    said = []
    return list(local_search.search(of, ASKED, lambda: said.append(1))), len(said)


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> list[Run]:
    """Lower the threshold for compilation. Return the runs whose search was compiled."""
    from hawb.study import compiled_search

    begun, made = [], compiled_search.Compiled
    monkeypatch.setattr(local_search, "MANY", 50)
    monkeypatch.setattr(compiled_search, "Compiled", lambda of, question: begun.append(of) or made(of, question))
    return begun


def test_small_search_uses_the_engine(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(local_search, "compiled", lambda *asked: pytest.fail("it is over before"))
    assert searched(run()) == (list(explore(run(), ASKED)), 0)


@pytest.mark.full
@pytest.mark.kernel
@pytest.mark.parametrize(("arguments", "version"), of_the_day([("{}", "3.10"), (QUORUM, "3.10"), (QUORUM, "4.3")]))
def test_large_search_is_compiled_with_the_same_answer(
    arguments: str, version: str, soon: list[Run], monkeypatch: pytest.MonkeyPatch
):
    from hawb.study import compiled_search

    monkeypatch.setattr(compiled_search, "is_compiled", lambda _: False)
    result, said = searched(run(arguments, version))
    assert (len(soon), said) == (1, 1)
    different = [one for place, one in enumerate(result) if one not in result[:place]]
    assert different == list(explore(run(arguments, version), ASKED))
    assert all(one.tried <= other.tried for one, other in pairwise(result))
    monkeypatch.setattr(compiled_search, "is_compiled", lambda _: True)
    assert searched(run(arguments, version))[1] == 0


def test_engine_finishes_searches_that_the_kernel_refuses(soon: list[Run]):
    limited = "{x-max-length: 9}"
    assert searched(run(limited)) == (list(explore(run(limited), ASKED)), 0)
    assert soon == []


def test_engine_finishes_without_the_extra(soon: list[Run], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "hawb.study.compiled_search", None)
    monkeypatch.delattr("hawb.study.compiled_search")
    assert searched(run()) == (list(explore(run(), ASKED)), 0)
    assert soon == []
