# ruff: noqa: INP001 - scripts beside each other, not a package
"""Where the time of the ledger goes, in two ways that are run apart.

First the phases of a batch, timed around whole batches, which changes nothing. Then the functions,
under the deterministic profiler, which makes small functions look dearer than they are.
"""

import asyncio
import cProfile
import pstats
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from typing import Any
from unittest import mock

from contenders import CONTENDERS, MEMORY, SQLITE, Cell
from rich.console import Console
from rich.table import Table

import tenure.ledger.group_commit
import tenure.stores.sqlite.writer
from tenure.stores.sqlite import loading, saving

Spent = defaultdict[str, float]
"""CPU seconds by phase or function."""
_SHOWN = 30
_WAITS = ("select.epoll", "SimpleQueue", "lock", "threading.py")


def profile_ledger(folder: Path, *, callers: int, seconds: float) -> int:
    """Print where the CPU time of a transition goes, on both stores."""
    console = Console(width=110)
    for name in (MEMORY, SQLITE):

        def measure(part: str, name: str = name) -> Cell:
            empty = folder / f"{name} {part}"
            empty.mkdir()
            return asyncio.run(CONTENDERS[name](empty, callers, seconds))

        phases: Spent = defaultdict(float)
        with _timed_phases(phases):
            cell = measure("phases")
        phases["event loop: checks, commands, callers"] = cell.cpu_seconds - sum(phases.values())
        console.print(_table(f"{name}, {callers} callers", "phase", phases, cell.transitions))
        functions: Spent = defaultdict(float)
        with _profiled_threads(functions):
            cell = measure("functions")
        console.print(_table("", "function, without what it calls", functions, cell.transitions))
    return 0


@contextmanager
def _timed_phases(phases: Spent) -> Iterator[None]:
    """Time the parts of each batch in CPU seconds of the thread that does it."""
    writer, batch = tenure.stores.sqlite.writer, tenure.ledger.group_commit._Batch  # noqa: SLF001
    stack: list[str] = []

    def timed(phase: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **keywords: Any) -> Any:  # noqa: ANN401 - whatever is wrapped
            began = time.thread_time()
            stack.append(phase)
            try:
                return work(*args, **keywords)
            finally:
                took = time.thread_time() - began
                stack.pop()
                phases[phase] += took
                if stack:
                    phases[stack[-1]] -= took

        return call

    with (
        mock.patch.object(writer, "load_rows", timed("store: load rows", loading.load_rows)),
        mock.patch.object(writer, "save_changes", timed("store: save rows", saving.save_changes)),
        mock.patch.object(
            writer.Writer, "apply", timed("store: begin and commit", writer.Writer.apply)
        ),
        mock.patch.object(batch, "decide", timed("kernel: decide", batch.decide)),
    ):
        yield


@contextmanager
def _profiled_threads(spent: Spent) -> Iterator[None]:
    """Profile every thread that is started meanwhile, and this one; leave out what waits."""
    profiles = [main := cProfile.Profile()]
    run = threading.Thread.run

    def profiled_run(thread: threading.Thread) -> None:
        profiles.append(profile := cProfile.Profile())
        profile.runcall(run, thread)

    with mock.patch.object(threading.Thread, "run", profiled_run):
        main.enable()
        try:
            yield
        finally:
            main.disable()
    for profile in profiles:
        stats: Any = pstats.Stats(profile)
        for (path, line, function), (_, _, seconds, _, _) in stats.stats.items():
            name = f"{function} ({Path(path).name}:{line})" if line else function
            if not any(wait in name for wait in _WAITS):
                spent[name] += seconds


def _table(title: str, what: str, spent: Spent, transitions: int) -> Table:
    table = Table(what, "share", "us per transition", title=title)
    total = sum(spent.values())
    most = sorted(spent.items(), key=itemgetter(1), reverse=True)
    for name, seconds in most[:_SHOWN]:
        share, each = seconds / total, seconds / transitions * 1e6
        table.add_row(name, f"{share:.1%}", f"{each:.2f}")
    return table
