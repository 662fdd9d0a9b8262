"""Where time comes from."""

from datetime import datetime
from typing import Protocol

from tenure.model.instant import InstantMs


class StoreClock(Protocol):
    """The time of one store, read inside its transactions.

    Never runs backwards within a ledger, and never follows a host's wall clock.
    """

    def now_ms(self) -> InstantMs:
        """Read the time in milliseconds; must not block."""
        ...


class LedgerClock(Protocol):
    """The time that controllers observe with."""

    async def now(self) -> datetime:
        """Read the ledger's time as an aware UTC ``datetime`` with millisecond precision."""
        ...
