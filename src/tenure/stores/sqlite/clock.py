"""The ledger's time: anchored once in each boot, then counted by the boot-time clock.

The anchor is taken under the write lock and never before the last instant written, so that time
does not run backwards across boots; all processes of a boot share it to the millisecond. Setting
the host's wall clock within a boot has no effect.
"""

import time

import apsw

from tenure.machine.clock import BootClock
from tenure.machine.host import boot_id
from tenure.model.instant import InstantMs
from tenure.stores.sqlite.connection import roll_back
from tenure.stores.sqlite.query import QUERIES

_NANOSECONDS_PER_MS = 1_000_000


class AnchoredClock:
    """The ``StoreClock`` of a ledger file."""

    def __init__(self, boot_clock: BootClock) -> None:
        self._boot_clock = boot_clock

    def now_ms(self) -> InstantMs:
        """Read the time in milliseconds; one system call."""
        return InstantMs(self._boot_clock.now_ms())


def wall_ms() -> int:
    """Read the host's wall clock; good for taking an anchor and for nothing else."""
    return time.clock_gettime_ns(time.CLOCK_REALTIME) // _NANOSECONDS_PER_MS


def anchor(connection: apsw.Connection) -> AnchoredClock:
    """Take this boot's anchor from the ledger; write it there if this is the first to ask.

    Raises:
        OSError: the host's boot id or boot-time clock cannot be read.
        apsw.Error: whatever SQLite reports.
    """
    boot = boot_id()
    found = _stored(connection, boot)
    if found is not None:
        return AnchoredClock(found)
    connection.execute("BEGIN IMMEDIATE")
    try:
        found = _stored(connection, boot)
        if found is None:
            found = _take(connection, boot)
            connection.execute("COMMIT")
    finally:
        roll_back(connection)
    return AnchoredClock(found)


def _stored(connection: apsw.Connection, boot: str) -> BootClock | None:
    rows = connection.execute(QUERIES["load_ledger"]).fetchall()
    _ledger_id, anchor_boot_id, anchor_boot_ms, anchor_wall_ms, _last_ms = rows[0]
    if anchor_boot_id != boot:
        return None
    assert isinstance(anchor_boot_id, str)
    assert isinstance(anchor_boot_ms, int)
    assert isinstance(anchor_wall_ms, int)
    return BootClock(
        anchor_boot_id=anchor_boot_id, anchor_boot_ms=anchor_boot_ms, anchor_wall_ms=anchor_wall_ms
    )


def _take(connection: apsw.Connection, boot: str) -> BootClock:
    rows = connection.execute(QUERIES["load_progress"]).fetchall()
    last_ms = rows[0][0]
    assert isinstance(last_ms, int)
    taken = BootClock.anchored(boot_id=boot, wall_ms=wall_ms(), not_before_ms=last_ms)
    values = (taken.anchor_boot_id, taken.anchor_boot_ms, taken.anchor_wall_ms)
    connection.execute(QUERIES["save_anchor"], values)
    return taken
