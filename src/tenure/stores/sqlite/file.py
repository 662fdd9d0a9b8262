"""The file that a handle serves: the one that was opened, and only while it is in its place.

A file that was removed or replaced can still be written by whoever has it open, but nobody would
ever read that again. So each transaction looks whether the file at the path is still the one that
was opened. It is looked at and never opened: closing a descriptor of our own would drop the POSIX
locks that this process holds on it.
"""

import os

import apsw
import msgspec

from tenure.errors import StorageUnavailableError
from tenure.stores.sqlite.connection import Location, close_quietly, connect


class LedgerFile(msgspec.Struct, frozen=True, kw_only=True):
    """A ledger in a file that was opened, and how to know it again."""

    location: Location
    ledger_id: str
    device: int
    inode: int

    def connect(self) -> apsw.Connection:
        """Open the same file once more.

        Raises:
            StorageUnavailableError: it is not in its place.
            LedgerOpenError, apsw.Error: see ``connection.connect``.
        """
        self.check()
        connection = connect(self.location)
        try:
            self.check()  # it was not replaced in between
        except BaseException:
            close_quietly(connection)
            raise
        return connection

    def check(self) -> None:
        """Make sure that the file is in its place; one system call.

        Raises:
            StorageUnavailableError: it is not, or cannot be looked at.
        """
        try:
            found = os.stat(self.location.path)  # noqa: PTH116 - each batch pays; a Path costs more
        except (FileNotFoundError, NotADirectoryError):
            seen = "the ledger's file was removed while it was open"
            advice = "move it back, or restore a backup and open the ledger again"
        except OSError as exc:
            seen = f"the ledger's file cannot be looked at ({exc.strerror})"
            advice = "check the path, its permissions and the disk"
        else:
            if (found.st_dev, found.st_ino) == (self.device, self.inode):
                return
            seen = "the ledger's file was replaced while it was open, another one is there now"
            advice = "move it back, or open the ledger again if the other one is right"
        raise StorageUnavailableError(ledger=self.location.name, seen=seen, advice=advice)
