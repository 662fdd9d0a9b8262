"""The ledger's time: one for all processes of a boot, never back, deaf to the wall clock."""

from pathlib import Path

import pytest
from tests.unit.stores.sqlite.ledgers import OpenStore, entry, save

from tenure.errors import LedgerOpenError
from tenure.ports.store import Changes, Keys
from tenure.stores.sqlite import SqliteStore, open_sqlite_store

HOUR_MS = 3_600_000
CLOCK = "tenure.stores.sqlite.clock"


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Give the wall clock as something to be set."""
    now = [1_800_000_000_000]
    monkeypatch.setattr(f"{CLOCK}.wall_ms", lambda: now[0])
    monkeypatch.setattr("tenure.stores.sqlite.opening.wall_ms", lambda: now[0])
    return now


async def in_batch(store: SqliteStore) -> int:
    seen = []
    await store.apply(Keys(), lambda _rows, now: (seen.append(now), Changes(entries=[entry()]))[1])
    return seen[-1]


async def test_time_starts_at_the_wall_clock(open_store: OpenStore, wall: list[int]) -> None:
    store = await open_store(clock=None)
    assert 0 <= store.clock.now_ms() - wall[0] < HOUR_MS
    assert 0 <= await in_batch(store) - wall[0] < HOUR_MS


@pytest.mark.parametrize("jump", [-HOUR_MS, HOUR_MS])
async def test_setting_the_wall_clock_has_no_effect_within_a_boot(
    open_store: OpenStore, wall: list[int], jump: int
) -> None:
    first = await open_store(clock=None)
    before = first.clock.now_ms()
    wall[0] += jump
    second = await open_store(clock=None)
    await first.aclose()
    third = await open_store(clock=None)
    for store in (first, second, third):
        assert 0 <= store.clock.now_ms() - before < HOUR_MS // 2


async def test_all_handles_of_a_boot_share_the_time_to_the_millisecond(
    open_store: OpenStore, wall: list[int]
) -> None:
    first = await open_store(clock=None)
    wall[0] += HOUR_MS
    second = await open_store(clock=None)
    for _ in range(100):
        earlier, between, later = (s.clock.now_ms() for s in (first, second, first))
        assert earlier <= between <= later


async def test_the_next_boot_begins_no_earlier_than_the_last_instant_written(
    open_store: OpenStore, wall: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await open_store(clock=None)
    written = await in_batch(first)
    await first.aclose()
    wall[0] -= 10 * HOUR_MS
    monkeypatch.setattr(f"{CLOCK}.boot_id", lambda: "22222222-2222-4222-8222-222222222222")
    second = await open_store(clock=None)
    assert written <= second.clock.now_ms() < written + HOUR_MS
    assert await in_batch(second) >= written


async def test_the_next_boot_follows_a_wall_clock_that_is_ahead(
    open_store: OpenStore, wall: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await open_store(clock=None)
    await save(first, entries=[entry()])
    await first.aclose()
    wall[0] += 10 * HOUR_MS
    monkeypatch.setattr(f"{CLOCK}.boot_id", lambda: "22222222-2222-4222-8222-222222222222")
    second = await open_store(clock=None)
    assert 0 <= second.clock.now_ms() - wall[0] < HOUR_MS


async def test_a_host_without_a_boot_id_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable() -> str:
        raise PermissionError(13, "Permission denied", "/proc/sys/kernel/random/boot_id")

    monkeypatch.setattr(f"{CLOCK}.boot_id", unreadable)
    with pytest.raises(LedgerOpenError, match="boot_id") as caught:
        await open_sqlite_store(str(path), name="sqlite:ledger.db")
    assert caught.value.reason == "inaccessible"


async def test_a_given_clock_replaces_the_ledgers_own(open_store: OpenStore) -> None:
    store = await open_store()
    assert store.clock.now_ms() == 1_000
    assert await in_batch(store) == 1_000
