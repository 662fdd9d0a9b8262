"""A file that is removed or replaced while it is open: nothing is written where nobody reads."""

import shutil
from pathlib import Path
from unittest.mock import patch

import apsw
import pytest
from tests.unit.stores.sqlite.files import has_log, inode_of, log_of, names_in, read, write
from tests.unit.stores.sqlite.ledgers import OpenStore, count, counting, start_python

from tenure.errors import StorageUnavailableError
from tenure.ports.store import Keys
from tenure.stores.sqlite import SqliteStore, opening

LEDGER = Keys(executions=frozenset({"e"}))


def move(path: Path, to: Path) -> None:
    path.replace(to)


def remove(path: Path) -> None:
    path.unlink()


async def refused(store: SqliteStore, seen: str) -> None:
    """Make sure that every kind of call is refused for this reason."""
    for call in (store.apply(LEDGER, counting()), store.load(LEDGER), store.check()):
        with pytest.raises(StorageUnavailableError, match=seen):
            await call


@pytest.mark.parametrize("reads", [0, 1])
async def test_nothing_is_written_to_a_file_that_was_removed(
    store: SqliteStore, path: Path, reads: int
) -> None:
    await store.apply(LEDGER, counting())
    for _ in range(reads):
        assert await count(store) == 1
    log = read(log_of(path))
    remove(path)
    await refused(store, "removed while it was open")
    assert read(log_of(path)) == log
    await store.aclose()
    assert path.name not in names_in(path.parent)


async def test_a_file_that_comes_back_is_used_again(store: SqliteStore, path: Path) -> None:
    await store.apply(LEDGER, counting())
    for n in range(2, 5):
        move(path, path.with_name("away.db"))
        await refused(store, "removed")
        move(path.with_name("away.db"), path)
        await store.apply(LEDGER, counting())
        assert await count(store) == n
    assert await store.check() == []


async def test_a_folder_that_comes_back_is_used_again(
    open_store: OpenStore, tmp_path: Path
) -> None:
    store = await open_store(tmp_path / "folder" / "ledger.db")
    await store.apply(LEDGER, counting())
    move(tmp_path / "folder", tmp_path / "away")
    await refused(store, "removed")
    write(tmp_path / "folder", b"a file")
    await refused(store, "removed")
    remove(tmp_path / "folder")
    move(tmp_path / "away", tmp_path / "folder")
    await store.apply(LEDGER, counting())
    assert await count(store) == 2


async def test_a_restored_copy_is_left_alone_until_it_is_opened(
    store: SqliteStore, open_store: OpenStore, path: Path
) -> None:
    await store.apply(LEDGER, counting())
    copy_ledger(path, path.with_name("backup.db"))
    await store.apply(LEDGER, counting())
    move(path.with_name("backup.db"), path)
    copied = read(path)
    await refused(store, "replaced while it was open")
    assert read(path) == copied
    await store.aclose()
    remove(log_of(path))  # as one has to when restoring a copy
    again = await open_store()
    assert again.ledger_id == store.ledger_id
    assert await count(again) == 1
    await again.apply(LEDGER, counting())
    assert await again.check() == []


def copy_ledger(path: Path, to: Path) -> None:
    source, target = apsw.Connection(str(path)), apsw.Connection(str(to))
    with target.backup("main", source, "main") as copying:
        copying.step()
    target.close()
    source.close()


async def test_closing_leaves_the_log_of_the_other_ledger_alone(
    store: SqliteStore, open_store: OpenStore, path: Path
) -> None:
    await store.apply(LEDGER, counting())
    for name in ("ledger.db", "ledger.db-wal", "ledger.db-shm"):
        remove(path.with_name(name))
    other = await open_store()
    await other.apply(LEDGER, counting())
    await refused(store, "replaced")
    await store.aclose()
    assert has_log(path)
    await other.apply(LEDGER, counting())
    assert await count(other) == 2
    assert await other.check() == []


async def test_a_connection_that_is_lost_is_not_opened_on_another_file(
    store: SqliteStore, path: Path
) -> None:
    await store.apply(LEDGER, counting())
    await store._writing.run(store._writer.close)
    copy_ledger(path, path.with_name("backup.db"))
    move(path, path.with_name("away.db"))
    await refused(store, "removed")
    assert path.name not in names_in(path.parent)
    move(path.with_name("backup.db"), path)
    await refused(store, "replaced")
    move(path.with_name("away.db"), path)
    await store.apply(LEDGER, counting())
    assert await count(store) == 2


async def test_a_file_that_is_replaced_while_it_is_opened_is_opened_again(
    open_store: OpenStore, path: Path
) -> None:
    first = await open_store()
    await first.aclose()
    prepare = opening.prepare_schema
    times = iter(range(2))

    def replace_once(connection: apsw.Connection, **options: object) -> None:
        prepare(connection, **options)  # type: ignore[arg-type]  # passed on as they came
        for _ in times:
            shutil.copy(path, path.with_name("copy.db"))
            move(path.with_name("copy.db"), path)
            return

    with patch("tenure.stores.sqlite.opening.prepare_schema", replace_once):
        store = await open_store()
    assert next(times, None) is None
    assert store._writer.file.inode == inode_of(path)
    await store.apply(LEDGER, counting())
    assert await count(store) == 1


ASKED = """
import asyncio, sys
from tests.unit.stores.sqlite.ledgers import counting
from tenure.errors import StorageUnavailableError
from tenure.ports.store import Keys
from tenure.stores.sqlite import open_sqlite_store

async def main():
    store = await open_sqlite_store(sys.argv[1], name="sqlite:ledger.db")
    print("ready", flush=True)
    while sys.stdin.readline():
        try:
            await store.apply(Keys(executions=frozenset({"e"})), counting())
        except StorageUnavailableError:
            print("refused", flush=True)
        else:
            print("acknowledged", flush=True)
    await store.aclose()

asyncio.run(main())
"""


async def test_a_process_that_goes_on_acknowledges_only_what_is_kept(
    path: Path, open_store: OpenStore
) -> None:
    away = path.with_name("away.db")
    with start_python(ASKED, str(path), stdin=-1) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"

        def ask() -> str:
            process.stdin.write("\n")
            process.stdin.flush()
            return process.stdout.readline().strip()

        answers = [ask(), ask()]
        move(path, away)
        answers += [ask(), ask()]
        move(away, path)
        answers += [ask()]
        shutil.copy(path, away)
        move(away, path.with_name("other.db"))
        move(path, away)
        move(path.with_name("other.db"), path)
        answers += [ask()]
        move(away, path)
        answers += [ask()]
        process.stdin.close()
    kept, lost = "acknowledged", "refused"
    assert answers == [kept, kept, lost, lost, kept, lost, kept]
    assert await count(await open_store()) == answers.count(kept)
