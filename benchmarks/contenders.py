# ruff: noqa: INP001 - scripts beside each other, not a package
"""Who is measured: the ledger on two stores, a bare loop, and one transaction per transition."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from life import STAGES, live, lives
from replay import FILE, PreparedLife, Replay, Trace, record

from tenure.ledger.ledger import Ledger
from tenure.wiring.ledgers import open_ledger

BATCH_MAX = 512
_PREPARED_PER_SECOND = 4000
_WARMING_LIVES = 3


class Cell(NamedTuple):
    """What one measurement found."""

    transitions: int
    seconds: float
    cpu_seconds: float

    @property
    def rate(self) -> float:
        """Transitions per second."""
        return self.transitions / self.seconds

    @property
    def cpu_us(self) -> float:
        """Microseconds of this process's CPU for each transition."""
        return self.cpu_seconds / self.transitions * 1e6


Contender = Callable[[Path, int, float], Coroutine[None, None, Cell]]
"""Given an empty folder, a number of callers and a duration in seconds, measures once."""


async def measure_memory(_folder: Path, callers: int, seconds: float) -> Cell:
    """Measure the ledger on the memory store: checks, kernel and event loop alone."""
    async with open_ledger("memory:") as ledger:
        return await measure_ledger(ledger, callers, seconds)


async def measure_sqlite(folder: Path, callers: int, seconds: float) -> Cell:
    """Measure the ledger on the SQLite store."""
    async with open_ledger(f"sqlite:///{folder}/{FILE}") as ledger:
        return await measure_ledger(ledger, callers, seconds)


async def measure_ledger(ledger: Ledger, callers: int, seconds: float) -> Cell:
    """Let ``callers`` lead one life after the other until the time is up."""
    supply, lived = lives(), 0
    for _ in range(_WARMING_LIVES):
        await live(ledger, next(supply))

    async def call(until: float) -> None:
        nonlocal lived
        while time.perf_counter() < until:
            await live(ledger, next(supply))
            lived += 1

    watch = _Watch()
    watch.start()
    until = time.perf_counter() + seconds
    async with asyncio.TaskGroup() as group:
        for _ in range(callers):
            group.create_task(call(until))
    watch.stop()
    return watch.cell(lived * len(STAGES))


async def measure_bare(folder: Path, callers: int, seconds: float) -> Cell:
    """Write a batch of ``callers`` lives, one stage after the other; preparing is not timed."""
    trace = await record(folder)
    replay = Replay(folder, trace.progress)
    supply, size = _prepared(trace), min(callers, BATCH_MAX)
    watch, transitions = _Watch(), 0
    while watch.seconds < seconds:
        batch = [next(supply) for _ in range(size)]
        watch.start()
        for stage in STAGES:
            replay.write_batch(stage, batch)
        watch.stop()
        transitions += len(STAGES) * size
    replay.close()
    return watch.cell(transitions)


async def measure_per_transition(folder: Path, callers: int, seconds: float) -> Cell:
    """Write each transition in a transaction of its own, called through a one-thread executor."""
    trace = await record(folder)
    loop, executor = asyncio.get_running_loop(), ThreadPoolExecutor(max_workers=1)
    replay = await loop.run_in_executor(executor, Replay, folder, trace.progress)
    count = max(callers, round(seconds * _PREPARED_PER_SECOND))
    prepared = [life for life, _ in zip(_prepared(trace), range(count), strict=False)]
    written = 0

    async def call(until: float) -> None:
        nonlocal written
        while prepared and time.perf_counter() < until:
            life = prepared.pop()
            for stage in STAGES:
                await loop.run_in_executor(executor, replay.write_one, stage, life)
                written += 1

    watch = _Watch()
    watch.start()
    until = time.perf_counter() + seconds
    async with asyncio.TaskGroup() as group:
        for _ in range(callers):
            group.create_task(call(until))
    watch.stop()
    await loop.run_in_executor(executor, replay.close)
    executor.shutdown()
    return watch.cell(written)


MEMORY, SQLITE, BARE, PER_TRANSITION = (
    "ledger, memory",
    "ledger, SQLite",
    "bare loop",
    "per transition",
)
CONTENDERS: dict[str, Contender] = {
    MEMORY: measure_memory,
    SQLITE: measure_sqlite,
    BARE: measure_bare,
    PER_TRANSITION: measure_per_transition,
}


class _Watch:
    """Sums up the time between starts and stops."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._cpu_seconds = 0.0

    def start(self) -> None:
        self._began, self._cpu_began = time.perf_counter(), time.process_time()

    def stop(self) -> None:
        self.seconds += time.perf_counter() - self._began
        self._cpu_seconds += time.process_time() - self._cpu_began

    def cell(self, transitions: int) -> Cell:
        return Cell(transitions, self.seconds, self._cpu_seconds)


def _prepared(trace: Trace) -> Iterator[PreparedLife]:
    return map(trace.prepare, lives())
