"""Faults: the one place where a driver's exception becomes an error of ours.

A message names the ledger and what SQLite or the system said; neither holds a secret.
"""

import errno
import os
from contextlib import suppress
from typing import Final

import apsw

from tenure.errors import (
    CommitUnknownError,
    CorruptRecordError,
    LedgerOpenError,
    StorageUnavailableError,
)

_FULL_ERRNOS: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_CORRUPTIONS: Final = (
    apsw.CorruptError,
    apsw.NotADBError,
    apsw.SQLError,  # our queries are right, so that a table or a column is missing
    UnicodeDecodeError,
)
_READ_ONLY: Final = (
    "read-only",
    "make the file, its folder and the file system writable for this user",
)
_CORRUPT: Final = (
    "corrupt",
    "keep the file for examination and restore it from a backup, or give another path",
)
_FULL: Final = ("full", "free some space, then try again")
_LOCKED: Final = ("locked", "find out which process holds it, then try again")
_INACCESSIBLE: Final = ("inaccessible", "check the path, its permissions and the disk")


def describe_fault(exc: BaseException, connection: apsw.Connection | None = None) -> str:
    """Say in one line what SQLite reported, and what the system had told it."""
    seen = f"SQLite reported {' '.join(str(exc).split()) or type(exc).__name__}"
    code = _system_errno(exc, connection)
    return f"{seen} ({os.strerror(code)})" if code else seen


def storage_fault(
    exc: BaseException, *, name: str, connection: apsw.Connection | None = None
) -> StorageUnavailableError | CorruptRecordError:
    """Make the error of a call whose transaction surely did not happen."""
    seen = describe_fault(exc, connection)
    if isinstance(exc, _CORRUPTIONS):
        return CorruptRecordError(record=f"in ledger {name}", seen=seen)
    advice = "try again later"
    if is_full(exc, connection):
        advice = _FULL[1]
    elif isinstance(exc, apsw.BusyError | apsw.LockedError):
        seen = "another process has held the write lock all the time"
    elif isinstance(exc, apsw.ReadOnlyError):
        advice = _READ_ONLY[1]
    return StorageUnavailableError(ledger=name, seen=seen, advice=advice)


def commit_fault(exc: BaseException, *, name: str) -> CommitUnknownError:
    """Make the error of a call whose commit can be neither found nor excluded."""
    return CommitUnknownError(ledger=name, seen=describe_fault(exc))


def opening_fault(
    exc: BaseException, *, name: str, connection: apsw.Connection | None = None
) -> LedgerOpenError:
    """Make the error of a ledger that could not be opened."""
    reason, advice = _INACCESSIBLE
    if is_full(exc, connection):
        reason, advice = _FULL
    elif isinstance(exc, _CORRUPTIONS):
        reason, advice = _CORRUPT
    elif isinstance(exc, apsw.BusyError | apsw.LockedError):
        reason, advice = _LOCKED
    elif isinstance(exc, apsw.ReadOnlyError) or _system_errno(exc, connection) == errno.EROFS:
        reason, advice = _READ_ONLY
    seen = str(exc) if isinstance(exc, OSError) else describe_fault(exc, connection)
    return LedgerOpenError(ledger=name, reason=reason, seen=seen, advice=advice)


def is_full(exc: BaseException, connection: apsw.Connection | None = None) -> bool:
    """Tell whether the disk or a quota is exhausted."""
    if getattr(exc, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE:
        return True  # the shared memory beside the file found no room; SQLite keeps no errno then
    return isinstance(exc, apsw.FullError) or _system_errno(exc, connection) in _FULL_ERRNOS


def _system_errno(exc: BaseException, connection: apsw.Connection | None) -> int:
    if isinstance(exc, OSError):
        return exc.errno or 0
    if connection is not None and isinstance(exc, apsw.IOError | apsw.CantOpenError):
        with suppress(apsw.Error):
            return connection.system_errno
    return 0
