"""Stores that are closed with the test."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from tests.unit.stores.sqlite.files import make_ledger
from tests.unit.stores.sqlite.ledgers import OpenStore, SetClock

from tenure.stores.sqlite import SqliteStore, open_sqlite_store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
async def open_store(path: Path, clock: SetClock) -> AsyncIterator[OpenStore]:
    default = path
    async with AsyncExitStack() as stack:

        async def open_one(path: Path | None = None, **options: object) -> SqliteStore:
            arguments = {"name": "sqlite:ledger.db", "clock": clock} | options
            store = await open_sqlite_store(str(path or default), **arguments)
            stack.push_async_callback(store.aclose)
            return store

        yield open_one


@pytest.fixture
async def ledger(path: Path) -> Path:
    """Make a ledger that nobody has open."""
    await make_ledger(path)
    return path


@pytest.fixture
async def store(open_store: OpenStore) -> SqliteStore:
    return await open_store()
