"""Several processes, sudden deaths and careless exits: what was acknowledged is there, once."""

import asyncio
import gc
import os
import signal
import time
from pathlib import Path

import pytest
from tests.unit.stores.sqlite.ledgers import OpenStore, count, counting, run_python, start_python

from tenure.errors import LedgerClosedError
from tenure.ports.store import Keys
from tenure.stores.sqlite import SqliteStore, open_sqlite_store

LEDGER = Keys(executions=frozenset({"e"}))

COUNT = """
import asyncio, sys
from tests.unit.stores.sqlite.ledgers import counting
from tenure.ports.store import Keys
from tenure.stores.sqlite import open_sqlite_store

path, times, wait = sys.argv[1], int(sys.argv[2]), sys.argv[3]

async def main():
    store = await open_sqlite_store(path, name="sqlite:ledger.db")
    if wait:
        print("ready", flush=True)
        sys.stdin.readline()
    for n in range(times):
        await store.apply(Keys(executions=frozenset({"e"})), counting())
        if not wait:
            print(n + 1, flush=True)
    await store.aclose()

asyncio.run(main())
"""

CARELESS = """
import asyncio, sys, time
from tests.unit.stores.sqlite.ledgers import counting
from tenure.ports.store import Keys
from tenure.stores.sqlite import open_sqlite_store

async def main():
    store = await open_sqlite_store(sys.argv[1], name="sqlite:ledger.db")
    await store.apply(Keys(executions=frozenset({"e"})), counting())
    await store.load(Keys())
    if sys.argv[2] == "busy":
        def decide(rows, now):
            time.sleep(60)
        task = asyncio.create_task(store.apply(Keys(), decide))
        await asyncio.sleep(0.05)
        task.cancel()
    if sys.argv[2] == "kept":
        globals()["kept"] = store

asyncio.run(main())
print("done", flush=True)
"""


async def entries(store: SqliteStore) -> list[int]:
    found = await store.journal(execution_id="e", execution_attempt_id=None, after=0, limit=10_000)
    return [e.sequence for e in found]


async def test_processes_that_write_at_once_lose_nothing(path: Path, open_store: OpenStore) -> None:
    store = await open_store()
    processes = [start_python(COUNT, str(path), "300", "wait", stdin=-1) for _ in range(2)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for _ in range(100):
        await store.apply(LEDGER, counting())
    for process in processes:
        assert process.communicate(timeout=60)[1] == ""
    assert await count(store) == 700
    assert await entries(store) == list(range(1, 701))
    assert await store.check() == []


@pytest.mark.parametrize("acknowledged", [1, 7, 120])
async def test_what_a_killed_writer_was_acknowledged_is_there(
    path: Path, open_store: OpenStore, acknowledged: int
) -> None:
    with start_python(COUNT, str(path), "100000", "") as process:
        assert process.stdout is not None
        last = 0
        for line in process.stdout:
            last = int(line)
            if last == acknowledged:
                process.kill()
    assert process.returncode == -signal.SIGKILL
    store = await open_store()
    assert await store.check() == []
    found = await count(store)
    assert last <= found <= last + 1
    assert await entries(store) == list(range(1, found + 1))
    await store.apply(LEDGER, counting())
    assert await count(store) == found + 1


@pytest.mark.parametrize("manner", ["kept", "dropped", "busy"])
async def test_an_interpreter_that_exits_without_closing_waits_for_nothing(
    path: Path, open_store: OpenStore, manner: str
) -> None:
    before = time.monotonic()
    assert run_python(CARELESS, str(path), manner) == "done"
    assert time.monotonic() - before < 20  # the careless decision would take a minute
    assert await count(await open_store()) == 1


async def test_a_handle_that_is_dropped_gives_its_threads_back(path: Path) -> None:
    store = await open_sqlite_store(str(path), name="sqlite:ledger.db")
    await store.apply(LEDGER, counting())
    await store.load(LEDGER)
    threads = [store._writing._thread, store._reading._thread]
    del store
    gc.collect()
    for thread in threads:
        await asyncio.to_thread(thread.join, 10)
        assert not thread.is_alive()


FORK = """
import asyncio, gc, os, sys
from tests.unit.stores.sqlite.ledgers import count, counting
from tenure.errors import LedgerClosedError
from tenure.ports.store import Keys
from tenure.stores.sqlite import open_sqlite_store

LEDGER = Keys(executions=frozenset({"e"}))

async def in_child(store):
    for call in (store.apply(LEDGER, counting()), store.load(LEDGER), store.check()):
        try:
            await call
        except LedgerClosedError:
            continue
        return 1
    await store.aclose()
    return 0

async def main():
    global store
    store = await open_sqlite_store(sys.argv[1], name="sqlite:ledger.db")
    await store.apply(LEDGER, counting())
    await store.load(LEDGER)

def child():
    global store
    code = asyncio.run(in_child(store))
    del store
    gc.collect()
    return code

runner = asyncio.Runner()
runner.run(main())
pid = os.fork()
if pid == 0:
    code = 2
    try:
        code = child()
    finally:
        os._exit(code)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
for _ in range(50):
    runner.run(store.apply(LEDGER, counting()))
print(runner.run(count(store)), runner.run(store.check()))
runner.run(store.aclose())
"""


async def test_a_forked_child_is_refused_and_harms_nothing(
    path: Path, open_store: OpenStore
) -> None:
    watching = await open_store()
    assert run_python(FORK, str(path)) == "51 []"
    assert await count(watching) == 51
    assert await watching.check() == []


async def test_a_handle_knows_which_process_it_belongs_to(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    process_id = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: process_id + 1)
    with pytest.raises(LedgerClosedError):
        await store.load(Keys())
    monkeypatch.undo()
    await store.load(Keys())
