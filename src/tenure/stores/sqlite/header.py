"""Headers: what a file is, found out before SQLite opens it and leaves its traces.

The first 100 bytes are read through SQLite's own file layer: closing a descriptor of our own would
drop the POSIX locks that this process holds on the file through another handle.
"""

import time
from pathlib import Path
from typing import Final

import apsw
import msgspec

from tenure.errors import LedgerOpenError
from tenure.stores.sqlite.query import MIGRATIONS

APPLICATION_ID: Final = 0x54656E75
"""Marks a file as ours; reads ``Tenu``."""
SCHEMA_VERSION: Final = len(MIGRATIONS)
"""The schema that this code works on."""

_HEADER_BYTES: Final = 100
_LOCK_PAUSE_SECONDS: Final = 0.005
_MAGIC: Final = b"SQLite format 3\0"
_PAGE_SIZES: Final = frozenset(1 << n for n in range(9, 16)) | {1}
_CORRUPT_ADVICE: Final = (
    "keep the file for examination and restore it from a backup, or give another path"
)


class Header(msgspec.Struct, frozen=True):
    """What the header of an existing file says."""

    is_fresh: bool
    """Nothing was ever stored: an empty file, or an empty database that nobody claimed."""
    has_wal: bool
    """A write-ahead log lies beside it, so that the header may be behind."""
    is_in_doubt: bool = False
    """A rollback journal lies beside it: whoever was making the ledger died, or is still at it."""


def read_header(path: str, *, name: str, upgrade: bool, busy_timeout_seconds: float) -> Header:
    """Read what a file is, and refuse what is not a ledger that this code may open.

    Raises:
        LedgerOpenError: foreign, corrupt, newer, or older without ``upgrade``.
        apsw.Error: the file cannot be read.
    """
    has_wal = _size(path + "-wal") > 0
    if _size(path) == 0:
        return Header(is_fresh=True, has_wal=has_wal)
    size, header = _read(path, busy_timeout_seconds)
    if len(header) < _HEADER_BYTES or not header.startswith(_MAGIC):
        seen = f"its {size} bytes are not an SQLite database"
        raise LedgerOpenError(ledger=name, reason="corrupt", seen=seen, advice=_CORRUPT_ADVICE)
    application_id, version, cookie = (_number(header, at) for at in (68, 60, 40))
    if application_id == 0 and cookie == 0 and not has_wal:
        return Header(is_fresh=True, has_wal=False)
    if application_id != APPLICATION_ID:
        seen = f"it is another program's database, application id {application_id:#010x}"
        advice = "give the path of a ledger, or of a file that does not exist yet"
        raise LedgerOpenError(ledger=name, reason="foreign", seen=seen, advice=advice)
    if _size(path + "-journal") > 0:
        return Header(is_fresh=False, has_wal=has_wal, is_in_doubt=True)
    if not has_wal:
        _check_length(header, size, name)
        check_version(version, name=name, upgrade=upgrade)
    return Header(is_fresh=False, has_wal=has_wal)


def check_version(version: int, *, name: str, upgrade: bool) -> None:
    """Refuse a schema that this code does not work on.

    Raises:
        LedgerOpenError: newer, or older without ``upgrade``.
    """
    if version > SCHEMA_VERSION:
        raise LedgerOpenError(
            ledger=name,
            reason="newer",
            seen=f"its schema has version {version}, this Tenure knows up to {SCHEMA_VERSION}",
            advice="use the newer Tenure that wrote it",
        )
    if version < SCHEMA_VERSION and not upgrade:
        raise LedgerOpenError(
            ledger=name,
            reason="older",
            seen=f"its schema has version {version}, this Tenure works on {SCHEMA_VERSION}",
            advice="make a backup, then run `tenure ledger upgrade`",
        )


def _check_length(header: bytes, size: int, name: str) -> None:
    page_size = int.from_bytes(header[16:18], "big")
    if page_size not in _PAGE_SIZES:
        seen = f"its header gives a page size of {page_size}"
        raise LedgerOpenError(ledger=name, reason="corrupt", seen=seen, advice=_CORRUPT_ADVICE)
    pages, real_size = _number(header, 28), 65536 if page_size == 1 else page_size
    if size < pages * real_size:
        seen = f"it has {size} bytes, its header speaks of {pages} pages of {real_size}"
        raise LedgerOpenError(ledger=name, reason="corrupt", seen=seen, advice=_CORRUPT_ADVICE)


def _number(header: bytes, at: int) -> int:
    return int.from_bytes(header[at : at + 4], "big")


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except FileNotFoundError:
        return 0


def _read(path: str, busy_timeout_seconds: float) -> tuple[int, bytes]:
    """Read size and header under the lock that keeps out who is just making the ledger."""
    flags = [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0]
    file = apsw.VFSFile("", path, flags)
    try:
        _lock(file, time.monotonic() + busy_timeout_seconds)
        size = file.xFileSize()
        return size, file.xRead(min(size, _HEADER_BYTES), 0)
    finally:
        file.xUnlock(apsw.SQLITE_LOCK_NONE)
        file.xClose()


def _lock(file: apsw.VFSFile, until: float) -> None:
    while True:
        try:
            file.xLock(apsw.SQLITE_LOCK_SHARED)
        except apsw.BusyError:
            if time.monotonic() > until:
                raise
            time.sleep(_LOCK_PAUSE_SECONDS)
        else:
            return
