"""What a storage has to offer: load rows, save rows, one transaction.

A store decides nothing. It loads what a batch names, hands it to a pure function together with the
time, saves what that function returns, and commits. Theory: the function is rerun from fresh rows
whenever the store has to begin again, so a transient fault needs no undo.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

import msgspec

from tenure.kernel.state import Attempt, Entry, Execution
from tenure.model.instant import InstantMs
from tenure.model.journal import JournalEntry
from tenure.ports.clock import StoreClock


class Keys(msgspec.Struct, frozen=True, kw_only=True):
    """What a batch or a read names."""

    attempts: frozenset[str] = frozenset()
    executions: frozenset[str] = frozenset()


class Rows(msgspec.Struct, frozen=True, kw_only=True):
    """The rows that belong to some keys, closed under three rules.

    Each named attempt that exists; each named execution that exists and the execution of each
    loaded attempt; the active attempt of each loaded execution. What does not exist is absent.
    """

    attempts: Mapping[str, Attempt]
    executions: Mapping[str, Execution]


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """What a batch writes: whole rows, each at most once, and journal entries in order."""

    attempts: Sequence[Attempt] = ()
    executions: Sequence[Execution] = ()
    entries: Sequence[Entry] = ()


Decide: TypeAlias = Callable[[Rows, InstantMs], Changes]
"""Pure and total; may run several times, on fresh rows each time. The last run is the one that
counts."""


class OpenWorkQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which open work to list. Filters apply before the limit."""

    due_before_ms: InstantMs | None
    """Only what has to be looked at before this instant."""
    providers: frozenset[str] | None
    """Only these providers; null: all."""
    execution_id: str | None
    """Only this execution; null: all."""
    after: tuple[InstantMs, str] | None
    """Only what comes after this (opened, attempt id)."""
    limit: int


class Store(Protocol):
    """One ledger's storage. All methods may be called concurrently from one event loop.

    A driver's exception never leaves a store: it raises ``StorageUnavailableError`` (nothing was
    written), ``CommitUnknownError`` (it may have been) or ``CorruptRecordError``.
    """

    name: str
    """The ledger's URL without secrets, for messages."""
    ledger_id: str
    """Identity of this ledger, made when it was created."""
    clock: StoreClock

    async def apply(self, keys: Keys, decide: Decide) -> None:
        """Load the rows of ``keys``, decide, save what changed, and commit durably.

        Everything happens in one serializable transaction. When it raises, nothing was written,
        except with ``CommitUnknownError``. Cancelling the caller does not stop a transaction that
        has begun; it then commits or fails as a whole.
        """
        ...

    async def load(self, keys: Keys) -> Rows:
        """Read the rows of ``keys`` in one snapshot that holds every acknowledged commit."""
        ...

    async def recoverable(self, execution_id: str) -> Sequence[Attempt]:
        """List attempts that are allocated and claimable, have a reference and have not settled.

        Ordered by creation, then by id in code-point order. Claim expiry is the ledger's to judge.
        """
        ...

    async def open_work(self, query: OpenWorkQuery) -> Sequence[tuple[Attempt, Execution]]:
        """List attempts with open work, with their executions.

        An attempt whose operation is open (it began and has not settled) or whose reclamation is
        open. Ordered by the open part's ``opened_ms``, then attempt id.
        """
        ...

    async def executions(
        self, *, concluded: bool | None, after: tuple[InstantMs, str] | None, limit: int
    ) -> Sequence[Execution]:
        """List submitted executions, newest first, then by id; ``concluded`` None means all.

        ``after`` is the (submitted, id) of the last one of the page before.
        """
        ...

    async def journal(
        self,
        *,
        execution_id: str | None,
        execution_attempt_id: str | None,
        after: int,
        limit: int,
    ) -> Sequence[JournalEntry]:
        """List journal entries with a sequence over ``after``, in order; None means any.

        Entries become visible in sequence order: none can appear later behind a reader's cursor.

        Raises:
            CorruptRecordError: a stored entry cannot be read.
        """
        ...

    async def check(self) -> Sequence[str]:
        """Examine the whole storage and return one line for each problem; none means sound."""
        ...

    async def aclose(self) -> None:
        """Finish what has begun and release everything. Idempotent."""
        ...
