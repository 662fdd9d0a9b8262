"""What the port cannot write, written through the store's own port.

A row that a hook spoiled may break the invariants on purpose, so it is excused from them.
"""

from msgspec.structs import replace
from tests.contract.values import Loose
from tests.contract.watch import WatchedStore

import tenure
from tenure.kernel.state import Attempt
from tenure.model.instant import InstantMs, parse_instant
from tenure.ports.store import Changes, Keys, Rows


def store_of(ledger: tenure.Ledger) -> WatchedStore:
    """Name the store under a ledger of these tests."""
    store = ledger._core.store
    assert isinstance(store, WatchedStore)
    return store


async def rewrite_attempt(ledger: tenure.Ledger, attempt_id: str, **columns: Loose) -> None:
    """Overwrite columns of an attempt's row."""
    store = store_of(ledger)
    store.excused.add(attempt_id)

    def overwrite(rows: Rows, _: InstantMs) -> Changes:
        return Changes(attempts=[replace(rows.attempts[attempt_id], **columns)])

    await store.inner.apply(Keys(attempts=frozenset({attempt_id})), overwrite)


async def read_attempt(ledger: tenure.Ledger, attempt_id: str) -> Attempt:
    """Read an attempt's row as it is stored."""
    rows = await store_of(ledger).inner.load(Keys(attempts=frozenset({attempt_id})))
    return rows.attempts[attempt_id]


async def set_claim_expiry(ledger: tenure.Ledger, attempt_id: str, expires_at: Loose) -> None:
    """Write the one field that only the host writes; breaks no invariant."""
    excused = attempt_id in store_of(ledger).excused
    expires_ms = None if expires_at is None else parse_instant(expires_at, field="expires_at")
    await rewrite_attempt(ledger, attempt_id, claim_expires_ms=expires_ms)
    if not excused:
        store_of(ledger).excused.discard(attempt_id)


async def set_created_at(ledger: tenure.Ledger, attempt_id: str, created_at: Loose) -> None:
    """Move the creation of an attempt."""
    created_ms = parse_instant(created_at, field="created_at")
    await rewrite_attempt(ledger, attempt_id, created_ms=created_ms)


async def set_claimable(ledger: tenure.Ledger, attempt_id: str, *, claimable: bool) -> None:
    """Say whether a worker may bootstrap."""
    await rewrite_attempt(ledger, attempt_id, claimable=claimable)


async def rewrite_operation(ledger: tenure.Ledger, attempt_id: str, **columns: Loose) -> None:
    """Overwrite columns of an attempt's operation."""
    row = await read_attempt(ledger, attempt_id)
    assert row.operation is not None
    await rewrite_attempt(ledger, attempt_id, operation=replace(row.operation, **columns))


async def rewrite_reclamation(ledger: tenure.Ledger, attempt_id: str, **columns: Loose) -> None:
    """Overwrite columns of an attempt's reclamation."""
    row = await read_attempt(ledger, attempt_id)
    assert row.reclamation is not None
    await rewrite_attempt(ledger, attempt_id, reclamation=replace(row.reclamation, **columns))
