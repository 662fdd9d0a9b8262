"""Disks that fill up and disks that fail: the truth about what was written, and work goes on."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import apsw
import pytest
from tests.unit.stores.sqlite.ledgers import (
    OpenStore,
    begun,
    changed,
    count,
    counting,
    entry,
    execution,
    run_python,
    save,
)

from tenure.errors import (
    CommitUnknownError,
    CorruptRecordError,
    LedgerOpenError,
    StorageUnavailableError,
)
from tenure.ports.store import Keys
from tenure.stores.sqlite import SqliteStore, open_sqlite_store

LEDGER = Keys(executions=frozenset({"e"}))


class FaultyFile(apsw.VFSFile):
    """A file whose writes and syncs fail while the test wants them to."""

    def __init__(self, vfs: "FaultyDisk", name: object, flags: list[int]) -> None:
        super().__init__("unix", name, flags)
        self._vfs = vfs
        self._is_log = bool(flags[0] & apsw.SQLITE_OPEN_WAL)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._vfs.happen("write", is_log=self._is_log)
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._vfs.happen("sync", is_log=self._is_log)
        super().xSync(flags)


class FaultyDisk(apsw.VFS):
    """SQLite's own file layer, with faults."""

    def __init__(self) -> None:
        super().__init__("faulty", "unix", makedefault=True)
        self.faults: dict[str, int] = {}
        """How often each kind of call on the log shall fail from now on."""
        self.is_opening_failing = False

    def happen(self, call: str, *, is_log: bool) -> None:
        if is_log and self.faults.get(call, 0) > 0:
            self.faults[call] -= 1
            raise apsw.IOError

    def xOpen(self, name: object, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        if self.is_opening_failing:
            raise apsw.CantOpenError
        return FaultyFile(self, name, flags)


@pytest.fixture
def disk() -> Iterator[FaultyDisk]:
    vfs = FaultyDisk()
    yield vfs
    vfs.unregister()


async def events(store: SqliteStore) -> list[str]:
    found = await store.journal(execution_id=None, execution_attempt_id=None, after=0, limit=99)
    return [e.event for e in found]


@pytest.mark.parametrize("call", ["write", "sync"])
async def test_a_commit_that_fails_did_not_happen_and_the_next_one_does(
    disk: FaultyDisk, open_store: OpenStore, path: Path, call: str
) -> None:
    store = await open_store()
    await save(store, execution(), entries=[entry("before")])
    assert await events(store) == ["before"]  # the reader's connection keeps the log alive
    disk.faults = {call: 1}
    with pytest.raises(StorageUnavailableError):
        await save(store, begun(), entries=[entry("lost")])
    await save(store, entries=[entry("after")])
    assert await events(store) == ["before", "after"]
    assert (await store.load(Keys(attempts=frozenset("a")))).attempts == {}
    # A crash now must not bring it back either: the log as it is gets recovered elsewhere.
    crashed = path.with_name("crashed.db")
    for suffix in ("", "-wal"):
        copy(Path(f"{path}{suffix}"), Path(f"{crashed}{suffix}"))
    recovered = await open_store(crashed)
    assert await events(recovered) == ["before", "after"]
    assert await recovered.check() == []


def copy(source: Path, target: Path) -> None:
    target.write_bytes(source.read_bytes())


async def test_a_commit_that_can_be_neither_found_nor_excluded_is_unknown(
    disk: FaultyDisk, open_store: OpenStore
) -> None:
    store = await open_store()
    await save(store, execution(), entries=[entry("before")])
    assert await events(store) == ["before"]
    disk.faults = {"sync": 2}
    with pytest.raises(CommitUnknownError, match="sqlite:ledger"):
        await save(store, begun(), entries=[entry("doubtful")])
    await save(store, entries=[entry("after")])
    assert await events(store) == ["before", "after"]
    assert await store.check() == []


async def test_a_commit_that_a_recovery_brings_back_is_acknowledged_once_it_is_durable(
    disk: FaultyDisk, open_store: OpenStore
) -> None:
    store = await open_store()
    await save(store, execution(), entries=[entry("before")])
    disk.faults = {"sync": 2}  # the commit's, and that of the checkpoint which closing tries
    await save(store, begun(), entries=[entry("recovered")])
    assert disk.faults == {"sync": 0}
    assert await events(store) == ["before", "recovered"]


async def test_a_commit_that_a_recovery_brings_back_but_cannot_sync_is_unknown(
    disk: FaultyDisk, open_store: OpenStore
) -> None:
    store = await open_store()
    await save(store, execution(), entries=[entry("before")])
    disk.faults = {"sync": 3}
    with pytest.raises(CommitUnknownError):
        await save(store, begun(), entries=[entry("recovered")])


async def test_a_commit_that_was_made_before_its_failure_is_acknowledged(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted:
        """A connection whose COMMIT is carried out and then reported as failed."""

        def __init__(self, connection: apsw.Connection) -> None:
            self._connection = connection

        def __getattr__(self, name: str) -> object:
            return getattr(self._connection, name)

        def execute(self, text: str, *arguments: object) -> object:
            result = self._connection.execute(text, *arguments)
            if text == "COMMIT":
                raise apsw.IOError
            return result

    connection = store._writer._connection
    assert connection is not None
    monkeypatch.setattr(store._writer, "_connection", Interrupted(connection))
    await save(store, execution(), begun(), entries=[entry("kept")])
    assert await events(store) == ["kept"]
    await save(store, entries=[entry("after")])
    assert await events(store) == ["kept", "after"]


async def test_a_disk_that_cannot_be_opened_again_is_unavailable_until_it_can(
    disk: FaultyDisk, open_store: OpenStore
) -> None:
    store = await open_store()
    await save(store, execution(), entries=[entry("before")])
    disk.faults = {"write": 1}
    disk.is_opening_failing = True
    with pytest.raises(CommitUnknownError):
        await save(store, entries=[entry("lost")])
    with pytest.raises(StorageUnavailableError):
        await save(store, entries=[entry("refused")])
    with pytest.raises(StorageUnavailableError):
        await events(store)
    disk.is_opening_failing = False
    await save(store, entries=[entry("after")])
    assert await events(store) == ["before", "after"]


async def test_a_file_replaced_by_another_ledger_is_not_written(
    disk: FaultyDisk, open_store: OpenStore, path: Path
) -> None:
    store = await open_store()
    await save(store, execution())
    other = await open_store(path.with_name("other.db"))
    await other.aclose()
    disk.faults = {"write": 1}
    disk.is_opening_failing = True
    with pytest.raises(CommitUnknownError):
        await store.apply(LEDGER, counting())
    disk.is_opening_failing = False
    replace(path, path.with_name("other.db"))
    for _ in range(2):
        with pytest.raises(StorageUnavailableError, match="replaced"):
            await store.apply(LEDGER, counting())


def replace(path: Path, other: Path) -> None:
    other.replace(path)
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


async def test_a_damaged_page_is_reported_as_corruption(open_store: OpenStore, path: Path) -> None:
    store = await open_store()
    for n in range(50):
        await save(store, *(begun(f"{n}-{m}", mark="m" * 200) for m in range(20)), execution())
    await store.aclose()
    damage(path)
    store = await open_store()
    with pytest.raises(CorruptRecordError):
        await store.load(Keys(attempts=frozenset(f"{n}-{m}" for n in range(50) for m in range(20))))
    assert await store.check() != []


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    for at in range(20 * 4096, len(content), 4096):
        content[at : at + 64] = b"\xff" * 64
    path.write_bytes(content)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def fill(folder: Path, *, spare: int = 0) -> Path:
    """Fill a disk but for some bytes."""
    ballast = folder / "ballast"
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while file.write(b"x" * 4096):
            pass
    os.truncate(ballast, ballast.stat().st_size - spare)
    return ballast


@pytest.mark.needs_root
@pytest.mark.parametrize("spare", [0, 4096, 8192, 32768])
async def test_a_ledger_is_not_made_on_a_full_disk(small_disk: Path, spare: int) -> None:
    fill(small_disk, spare=spare)
    with pytest.raises(LedgerOpenError) as caught:
        await open_sqlite_store(str(small_disk / "ledger.db"), name="sqlite:ledger.db")
    assert caught.value.reason == "full"
    assert os.listdir(small_disk) == ["ballast"]  # noqa: PTH208


@pytest.mark.needs_root
async def test_a_disk_that_fills_up_stops_writing_until_there_is_space(
    small_disk: Path, open_store: OpenStore
) -> None:
    store = await open_store(small_disk / "ledger.db")
    pointer = execution(active_attempt_id="a", attempt_count=1)
    await save(store, pointer, begun(), entries=[entry("before")])
    ballast = fill(small_disk)
    big = changed(begun("big", ordinal=2), mark="x" * 100_000)
    for _ in range(3):
        with pytest.raises(StorageUnavailableError, match="space"):
            await save(store, big, entries=[entry("lost")])
    assert await events(store) == ["before"]
    assert (await store.load(Keys(attempts=frozenset({"a", "big"})))).attempts == {"a": begun()}
    ballast.unlink()
    moved = execution(active_attempt_id="big", attempt_count=2)
    await save(store, big, moved, entries=[entry("after")])
    assert await events(store) == ["before", "after"]
    assert await store.check() == []
    await store.aclose()
    again = await open_store(small_disk / "ledger.db")
    assert await events(again) == ["before", "after"]


SINGLE = """
import asyncio, sys
from tests.unit.stores.sqlite.ledgers import count
from tenure.stores.sqlite import open_sqlite_store

async def main():
    store = await open_sqlite_store(sys.argv[1], name="sqlite:ledger.db")
    print(await count(store))
    await store.aclose()

asyncio.run(main())
"""


@pytest.mark.needs_root
async def test_a_ledger_on_a_full_disk_is_refused_and_unharmed(
    small_disk: Path, open_store: OpenStore
) -> None:
    path = small_disk / "ledger.db"
    store = await open_store(path)
    await store.apply(LEDGER, counting())
    await store.aclose()
    ballast = fill(small_disk)
    with pytest.raises(LedgerOpenError) as caught:
        await open_store(path)
    assert caught.value.reason == "full"
    ballast.unlink()
    assert run_python(SINGLE, str(path)) == "1"
    assert await count(await open_store(path)) == 1
