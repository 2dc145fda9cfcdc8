"""Search for the worst case in one process: with the engine first, and compiled if the search is long.

The engine finds one to three thousand distinct states a second and begins at once; the kernel has to be loaded, and the
first time compiled, before it finds more than ten times as many. So a small search never waits for it. Both find and
count the same states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import dropwhile

from hawb.planning import explore
from hawb.planning.explore import Progress, Question
from hawb.scenario.run import Run

MANY = 10_000
"""After this many distinct states, if more are left, a search begins again, compiled.

The engine has taken some seconds by then; the compiled search overtakes it within one.
"""


def search(run: Run, question: Question, before_compiling: Callable[[], None]) -> Iterator[Progress]:
    """Yield the progress of a search repeatedly; the last one is the answer.

    A long search continues compiled, unless only the engine can play it (`hawb.study.compiled_search.refused`), or
    hawb's extra `study` is not installed. `before_compiling` is called before a compilation that may take a minute.
    """
    by_engine = explore.explore(run, question)
    for progress in by_engine:
        yield progress
        if progress.states >= MANY and not progress.over:
            faster = compiled(run, question, before_compiling)
            yield from dropwhile(lambda other, had=progress: other.tried < had.tried, faster) if faster else by_engine
            return


def compiled(run: Run, question: Question, before_compiling: Callable[[], None]) -> Iterator[Progress] | None:
    """Return the compiled search from its beginning; None if the kernel cannot search."""
    try:
        from hawb.study import compiled_search
    except ModuleNotFoundError:
        return None
    if compiled_search.refused(run) is not None:
        return None
    if not compiled_search.is_compiled(run):
        before_compiling()
    search = compiled_search.Compiled(run, question)
    return explore.explore(run, question, search.expand, name=search.name)
