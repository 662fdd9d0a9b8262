"""The contract is checked on every store, with every invariant asked around every transition."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest
from tests.contract.hooks import store_of
from tests.contract.stage import ManualClock, Stage
from tests.contract.watch import WatchedStore

import tenure
from tenure.ledger import group_commit
from tenure.ports.store import Store


@pytest.fixture(params=["memory", "sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Name a new ledger on each kind of store."""
    return "memory:" if request.param == "memory" else f"sqlite:///{tmp_path / 'ledger.sqlite'}"


@pytest.fixture
def clock() -> ManualClock:
    """Give time that moves by hand."""
    return ManualClock()


@pytest.fixture
async def ledger(
    url: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tenure.Ledger]:
    """Open a watched ledger; at the end nothing may have broken an invariant."""
    opened = await tenure.open_ledger(url, clock=clock)
    watched = WatchedStore(opened._core.store)
    monkeypatch.setattr(group_commit, "step", watched.step)
    handle = tenure.Ledger(cast("Store", watched))
    yield handle
    await handle.aclose()
    assert store_of(handle).broken == []


@pytest.fixture
def stage(ledger: tenure.Ledger, clock: ManualClock) -> Stage:
    """Give the ledger with the steps that bring it into a state."""
    return Stage(ledger, clock)
