"""Files and folders of a ledger: making, photographing, and opening them in another process."""

import hashlib
import stat
from pathlib import Path

import apsw
import pytest
from tests.unit.stores.sqlite.ledgers import counting, save, settled

from tenure.errors import LedgerOpenError
from tenure.ports.store import Keys
from tenure.stores.sqlite import open_sqlite_store

LEDGER = Keys(executions=frozenset({"e"}))


def photograph(folder: Path) -> dict[str, str]:
    """Take down every file of a folder by its content."""
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        for path in sorted(folder.rglob("*"))
    }


def read(path: Path) -> bytes:
    return path.read_bytes()


def write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def make_folder(path: Path) -> None:
    path.mkdir()


def make_link(path: Path, target: str) -> None:
    path.symlink_to(target)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def inode_of(path: Path) -> int:
    return path.stat().st_ino


def log_of(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def has_log(path: Path) -> bool:
    log = log_of(path)
    return log.exists() and log.stat().st_size > 0


def make_database(path: Path, *statements: str) -> None:
    connection = apsw.Connection(str(path))
    for statement in statements:
        connection.execute(statement)
    connection.close()


async def make_ledger(path: Path) -> None:
    store = await open_sqlite_store(str(path), name="sqlite:made")
    await store.apply(LEDGER, counting())
    await save(store, settled())
    await store.aclose()


async def refusal(path: Path, **options: object) -> LedgerOpenError:
    """Try to open, and make sure that nothing changed."""
    before = photograph(path.parent) if path.parent.exists() else {}
    with pytest.raises(LedgerOpenError) as caught:
        await open_sqlite_store(str(path), name="sqlite:ledger.db", **options)
    assert (photograph(path.parent) if path.parent.exists() else {}) == before
    assert "sqlite:ledger.db" in str(caught.value)
    assert "\n" not in str(caught.value)
    return caught.value


OPEN = """
import asyncio, os, sys
from tenure.errors import LedgerOpenError
from tenure.stores.sqlite import open_sqlite_store

path, user = sys.argv[1:]
if user:
    os.setgroups([])
    os.setgid(int(user))
    os.setuid(int(user))

async def main():
    try:
        store = await open_sqlite_store(path, name="sqlite:ledger.db")
    except LedgerOpenError as error:
        print(error.reason)
    else:
        print(store.ledger_id)
        await store.aclose()

asyncio.run(main())
"""
