"""The search for the worst case in one process: the engine's, and where that takes long the compiled one.

The engine finds one to three thousand distinct states a second and begins at once; the kernel has to be loaded, and the
first time compiled, before it finds more than ten times as many. So a small search never waits for it. Both count and
find the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import dropwhile

from hawb.planning import explore
from hawb.planning.explore import Progress, Question
from hawb.scenario.run import Run

MANY = 10_000
"""With so many distinct states found, and more to look at, a search begins anew, compiled: the engine has taken some
seconds by then, the compiled search overtakes it within one."""


def search(run: Run, question: Question, before_compiling: Callable[[], None]) -> Iterator[Progress]:
    """Yields the progress of a search again and again; the last one is the answer. A long search goes on compiled,
    unless only the engine can play it (`hawb.study.compiled_search.refused`), or hawb's extra `study` is not installed.
    `before_compiling` is called before compiling that may take a minute."""
    by_engine = explore.explore(run, question)
    for progress in by_engine:
        yield progress
        if progress.states >= MANY and not progress.over:
            faster = compiled(run, question, before_compiling)
            yield from dropwhile(lambda other, had=progress: other.tried < had.tried, faster) if faster else by_engine
            return


def compiled(run: Run, question: Question, before_compiling: Callable[[], None]) -> Iterator[Progress] | None:
    """The compiled search from its beginning; None where the kernel cannot search."""
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
