"""Paths: the ledger's file and folders, made when missing, taken back when nothing came of it."""

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

import apsw

from tenure.errors import LedgerOpenError

_FILE_MODE: Final = 0o600
_FOLDER_MODE: Final = 0o700
_PATH_BYTES_MAX: Final = 512
"""Longest path that SQLite opens."""
_NAME_BYTES_MAX: Final = 255
_LONGEST_SUFFIX: Final = "-journal"
"""What SQLite appends for the files beside a ledger."""


def resolve(path: str, name: str) -> Path:
    """Follow links, and refuse what can never be a ledger's path, before anything is made.

    Raises:
        LedgerOpenError: it holds NUL, is no Unicode text, or is too long.
    """
    try:
        real = os.path.realpath(path)
        seen = _excess(real)
        if not seen:
            return Path(real)
    except UnicodeEncodeError:
        seen = "the path is not Unicode text"
    except ValueError:
        seen = "the path holds a NUL character"
    advice = "give another path"
    raise LedgerOpenError(ledger=name, reason="inaccessible", seen=seen, advice=advice)


def _excess(path: str) -> str:
    """Say what is too long for a path, or nothing."""
    longest = (path + _LONGEST_SUFFIX).encode("utf-8", "strict")
    if b"\0" in longest:
        raise ValueError
    if len(longest) > _PATH_BYTES_MAX:
        allowed = _PATH_BYTES_MAX - len(_LONGEST_SUFFIX)
        return f"the path is longer than the {allowed} bytes that SQLite takes"
    if max(map(len, longest.split(b"/"))) > _NAME_BYTES_MAX:
        return f"a name in the path is too long for the file system, with {_LONGEST_SUFFIX!r}"
    return ""


class Made:
    """What was made for a ledger that does not exist yet."""

    def __init__(self) -> None:
        self.folders: list[Path] = []
        self.is_file_made = False

    def make(self, path: Path) -> None:
        """Make the file, empty, and its missing folders; somebody else may be doing the same.

        Raises:
            OSError: they cannot be made; what was made already is taken back.
        """
        try:
            for folder in reversed(_missing_folders(path)):
                with suppress(FileExistsError):
                    folder.mkdir(_FOLDER_MODE)
                    self.folders.append(folder)
            with suppress(FileExistsError):
                # Not opened: closing a descriptor of our own drops SQLite's locks (see header.py).
                os.mknod(path, stat.S_IFREG | _FILE_MODE)
                self.is_file_made = True
        except OSError:
            self._remove_folders()
            raise

    def take_back(self, path: Path) -> None:
        """Remove what never became a ledger.

        The file goes under SQLite's exclusive lock and only while it is empty, so that nobody else
        has committed into it. Who waits for that lock looks at the path again afterwards.
        """
        if self.is_file_made:
            with suppress(apsw.Error, OSError):
                _remove_empty(path)
        self._remove_folders()

    def _remove_folders(self) -> None:
        for folder in reversed(self.folders):
            with suppress(OSError):  # somebody else uses it already
                folder.rmdir()


def check_access(path: Path, name: str) -> None:
    """Refuse what is no file that this user may read and write.

    Raises:
        LedgerOpenError: a directory, no regular file, unreadable, or read-only.
        OSError: it cannot be looked at.
    """
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        seen, reason, advice = "is a directory", "directory", "give the path of a file"
    elif not stat.S_ISREG(mode):
        seen, reason, advice = "is no regular file", "inaccessible", "give the path of a file"
    elif not os.access(path, os.R_OK):
        seen, reason, advice = "may not be read", "inaccessible", "let this user read and write it"
    elif not os.access(path, os.W_OK):
        seen, reason = "may not be written", "read-only"
        advice = "make the file and its file system writable for this user"
    elif not os.access(path.parent, os.W_OK | os.X_OK):
        seen, reason = "lies in a folder that may not be written", "read-only"
        advice = "let this user write the folder: SQLite keeps its write-ahead log there"
    else:
        return
    raise LedgerOpenError(ledger=name, reason=reason, seen=f"{str(path)!r} {seen}", advice=advice)


def _missing_folders(path: Path) -> list[Path]:
    """List the folders that are missing, innermost first."""
    missing: list[Path] = []
    for folder in path.parents:
        if os.path.lexists(folder):
            break
        missing.append(folder)
    return missing


def _remove_empty(path: Path) -> None:
    """Remove a file that is still empty, under the lock that every commit into it needs."""
    flags = [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE, 0]
    file = apsw.VFSFile("", str(path), flags)
    try:
        file.xLock(apsw.SQLITE_LOCK_SHARED)
        file.xLock(apsw.SQLITE_LOCK_EXCLUSIVE)
        if file.xFileSize() == 0:
            path.unlink()
    finally:
        file.xUnlock(apsw.SQLITE_LOCK_NONE)
        file.xClose()
