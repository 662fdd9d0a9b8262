"""Opening makes a ledger or finds one, and all who open a file at once get the same."""

import asyncio
import threading
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.unit.stores.sqlite.files import (
    LEDGER,
    OPEN,
    has_log,
    make_database,
    make_folder,
    make_ledger,
    make_link,
    mode_of,
    names_in,
    read,
    write,
)
from tests.unit.stores.sqlite.ledgers import OpenStore, count, counting, run_python, start_python

from tenure.ports.store import Keys
from tenure.stores.sqlite import open_sqlite_store
from tenure.stores.sqlite.header import APPLICATION_ID, SCHEMA_VERSION


async def test_a_missing_file_is_made_with_its_folder_for_this_user_only(
    tmp_path: Path, open_store: OpenStore
) -> None:
    path = tmp_path / "a" / "b" / "ledger.db"
    store = await open_store(path)
    await store.apply(LEDGER, counting())
    assert {mode_of(path.parent / name) for name in names_in(path.parent)} == {0o600}
    assert mode_of(path.parent) == 0o700
    assert len(store.ledger_id) == 32
    assert int(store.ledger_id, 16)


async def test_closing_leaves_one_file(tmp_path: Path) -> None:
    await make_ledger(tmp_path / "ledger.db")
    assert names_in(tmp_path) == ["ledger.db"]


async def test_an_empty_file_becomes_a_ledger(path: Path, open_store: OpenStore) -> None:
    write(path, b"")
    store = await open_store()
    await store.apply(LEDGER, counting())
    assert await count(store) == 1


async def test_a_link_is_followed_and_the_files_lie_beside_its_target(
    tmp_path: Path, open_store: OpenStore
) -> None:
    make_folder(tmp_path / "real")
    make_link(tmp_path / "link.db", "real/ledger.db")
    first = await open_store(tmp_path / "link.db")
    second = await open_store(tmp_path / "real" / "ledger.db")
    assert first.ledger_id == second.ledger_id
    assert names_in(tmp_path) == ["link.db", "real"]


@pytest.mark.parametrize(
    "odd", ["a ledger?.db", "50%.db", ":memory:", "file:x?mode=memory", "ü#.db"]
)
async def test_a_name_is_a_name_whatever_it_looks_like(
    tmp_path: Path, open_store: OpenStore, odd: str
) -> None:
    store = await open_store(tmp_path / odd)
    await store.aclose()
    assert names_in(tmp_path) == [odd]


async def test_each_connection_reads_back_that_commits_are_synced(open_store: OpenStore) -> None:
    store = await open_store()
    await store.load(Keys())
    for thread, holder in ((store._writing, store._writer), (store._reading, store._reader)):
        connection = holder._connection
        assert connection is not None
        assert await thread.run(lambda c=connection: c.pragma("synchronous")) == 2
        assert await thread.run(lambda c=connection: c.pragma("journal_mode")) == "wal"


async def test_an_empty_database_of_nobody_becomes_a_ledger(
    path: Path, open_store: OpenStore
) -> None:
    make_database(path, "PRAGMA journal_mode = wal")
    await (await open_store()).apply(LEDGER, counting())


async def test_processes_that_create_one_ledger_at_once_get_one(tmp_path: Path) -> None:
    for n in range(5):
        path = tmp_path / f"f{n}" / "ledger.db"
        processes = [start_python(OPEN, str(path), "") for _ in range(4)]
        answers = [process.communicate(timeout=60) for process in processes]
        assert [err for _out, err in answers] == [""] * 4
        assert len({out for out, _err in answers}) == 1, answers
        assert len(answers[0][0].strip()) == 32


DYING = """
import apsw, asyncio, os, sys
from tenure.stores.sqlite import open_sqlite_store

path, left = sys.argv[1], int(sys.argv[2])

class DyingFile(apsw.VFSFile):
    def __init__(self, name, flags):
        super().__init__("unix", name, flags)
        self.is_ledger = bool(flags[0] & apsw.SQLITE_OPEN_MAIN_DB)

    def xWrite(self, data, offset):
        global left
        super().xWrite(data, offset)
        left -= self.is_ledger
        if not left:
            os._exit(0)

class DyingDisk(apsw.VFS):
    def xOpen(self, name, flags):
        return DyingFile(name, flags)

disk = DyingDisk("dying", "unix", makedefault=True)
asyncio.run(open_sqlite_store(path, name="sqlite:ledger.db"))
"""


@pytest.mark.parametrize("written", [1, 2, 14, 15])
async def test_a_ledger_whose_maker_died_is_made_by_the_next(
    path: Path, open_store: OpenStore, written: int
) -> None:
    run_python(DYING, str(path), str(written))
    assert names_in(path.parent) == ["ledger.db", "ledger.db-journal"]
    store = await open_store()
    await store.apply(LEDGER, counting())
    assert await store.check() == []


async def test_handles_that_create_one_ledger_at_once_get_one(tmp_path: Path) -> None:
    path = str(tmp_path / "new" / "ledger.db")
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(open_sqlite_store(path, name="sqlite:ledger.db")) for _ in range(8)
        ]
    stores = [task.result() for task in tasks]
    assert len({store.ledger_id for store in stores}) == 1
    for store in stores:
        await store.apply(LEDGER, counting())
    assert await count(stores[0]) == 8
    for store in stores:
        await store.aclose()


async def test_a_cancelled_opening_leaves_nothing_open(ledger: Path) -> None:
    blocker = asyncio.Event()
    loop = asyncio.get_running_loop()
    threads = set(threading.enumerate())

    def slow(*_: object) -> str:
        loop.call_soon_threadsafe(blocker.set)
        assert go_on.wait(10)
        return "3.54.1"

    go_on = threading.Event()
    with patch("apsw.sqlite_lib_version", slow):
        async with asyncio.TaskGroup() as group:
            task = group.create_task(open_sqlite_store(str(ledger), name="sqlite:ledger.db"))
            await blocker.wait()
            task.cancel()
        go_on.set()
        for thread in set(threading.enumerate()) - threads:
            if thread.name.startswith("tenure"):
                await asyncio.to_thread(thread.join, 10)
                assert not thread.is_alive()
    assert task.cancelled()
    assert names_in(ledger.parent) == [ledger.name]


async def test_looking_at_a_ledger_drops_no_lock_of_this_process(
    ledger: Path, open_store: OpenStore
) -> None:
    store = await open_store(ledger)
    await store.apply(LEDGER, counting())
    await (await open_store(ledger)).aclose()
    # Were the shared lock gone, the other process would think itself alone and delete the log.
    run_python(OPEN, str(ledger), "")
    assert has_log(ledger)
    await store.apply(LEDGER, counting())
    assert await count(store) == 3


async def test_the_mark_of_a_ledger_stands_in_its_header(ledger: Path) -> None:
    header = read(ledger)[:100]
    assert int.from_bytes(header[68:72], "big") == APPLICATION_ID
    assert int.from_bytes(header[60:64], "big") == SCHEMA_VERSION
