"""One attempt's folder, as the provider uses it. Whoever changes it holds its lock."""

import json
import os
import re
from pathlib import Path
from typing import Final

from tenure.machine import (
    FileInode,
    HeldLock,
    ProcessIdentity,
    acquire,
    make_private_folder,
    remove_durably,
    write_durably,
)
from tenure.providers.local.reference import Keeper
from tenure.wire import attempt_folder
from tenure.wire.attempt_folder import AttemptRequest
from tenure.wire.spool import SPOOL_BYTES_MAX, SpoolContent, SpoolDefect, decode_spool
from tenure.wire.tether import KEEPER_FILE, decode_keeper

_MARK: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_AGENT_BYTES_MAX: Final = 4096


class AttemptFolder:
    """The folder of one mark below a root. Making one touches nothing."""

    def __init__(self, root: Path, mark: str) -> None:
        """Name the folder.

        Raises:
            ValueError: the mark is no plain name.
        """
        if _MARK.fullmatch(mark) is None:
            message = f"invalid mark {mark!r}: allowed are letters, digits, '.', '_' and '-'"
            raise ValueError(message)
        self.root = root
        self.path = root / mark

    def make(self) -> None:
        """Make root and folder, private and durable; existing ones are kept.

        Raises:
            OSError: they cannot be made, or others could enter them.
        """
        self.root.parent.mkdir(parents=True, exist_ok=True)
        make_private_folder(self.root)
        make_private_folder(self.path)

    def lock(self) -> HeldLock | None:
        """Take the lock without waiting, or None when somebody holds it.

        Raises:
            OSError: there is no telling.
        """
        return acquire(self.path / attempt_folder.LOCK_FILE)

    def lock_inode(self) -> FileInode | None:
        """Name the lock file that is there now."""
        try:
            status = (self.path / attempt_folder.LOCK_FILE).lstat()
        except FileNotFoundError:
            return None
        return FileInode(device=status.st_dev, inode=status.st_ino)

    def has(self, name: str) -> bool:
        """Whether there is such a file.

        Raises:
            OSError: that cannot be seen.
        """
        try:
            (self.path / name).lstat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def write_tombstone(self, reason: str) -> None:
        """Refuse every later agent, durably. Only under the lock.

        Raises:
            OSError: it is not certain to be there.
        """
        data = json.dumps({"version": 1, "reason": reason}).encode()
        write_durably(self.path / attempt_folder.TOMBSTONE_FILE, data)

    def write_request(self, request: AttemptRequest) -> None:
        """Leave what the agent has to do. Only under the lock."""
        data = attempt_folder.encode_request(request)
        write_durably(self.path / attempt_folder.REQUEST_FILE, data)

    def read_request(self) -> AttemptRequest | None:
        """Read what the agent had to do; None when there is none, or it cannot be understood."""
        data = self._read(attempt_folder.REQUEST_FILE, attempt_folder.REQUEST_BYTES_MAX)
        try:
            return None if data is None else attempt_folder.decode_request(data)
        except ValueError:
            return None

    def read_agent(self) -> ProcessIdentity | None:
        """Read who the agent is or was; None when none ever said so.

        Raises:
            ValueError: the file is not an agent's.
            OSError: it cannot be read.
        """
        data = self._read(attempt_folder.AGENT_FILE, _AGENT_BYTES_MAX)
        return None if data is None else ProcessIdentity.from_json(json.loads(data))

    def read_keeper(self) -> Keeper | None:
        """Read who keeps or kept the agent; None when nobody ever said so.

        Raises:
            ValueError: the file is not a keeper's.
            OSError: it cannot be read.
        """
        data = self._read(KEEPER_FILE, _AGENT_BYTES_MAX)
        if data is None:
            return None
        record = decode_keeper(data)
        process = ProcessIdentity.from_json(record.process)
        return Keeper(process=process, isolation=record.isolation)

    def read_outcome(self) -> SpoolContent | SpoolDefect | None:
        """Read the spool; a defect also when it is another attempt's than the request."""
        data = self._read(attempt_folder.OUTCOME_FILE, SPOOL_BYTES_MAX)
        if data is None:
            return None
        content = decode_spool(data)
        if isinstance(content, SpoolDefect) or self._is_of_request(content):
            return content
        return SpoolDefect(seen="of another attempt than the folder")

    def remove_outcome(self) -> None:
        """Remove the spool durably; missing is fine, and so is a missing folder."""
        try:
            remove_durably(self.path / attempt_folder.OUTCOME_FILE)
        except FileNotFoundError:
            return

    def read_output(self, *, offset: int, limit: int) -> bytes | None:
        """Read a piece of the command's output, or None when there is none kept."""
        try:
            descriptor = self._open(attempt_folder.OUTPUT_FILE)
        except FileNotFoundError:
            return None
        try:
            return os.pread(descriptor, limit, offset)
        finally:
            os.close(descriptor)

    def _is_of_request(self, content: SpoolContent) -> bool:
        request = self.read_request()
        if request is None:
            return True  # whoever asked for the outcome compares the ids once more
        ids = (content.execution_id, content.execution_attempt_id)
        return ids == (request.execution_id, request.execution_attempt_id)

    def _read(self, name: str, bytes_max: int) -> bytes | None:
        try:
            descriptor = self._open(name)
        except FileNotFoundError:
            return None
        with os.fdopen(descriptor, "rb") as file:
            return file.read(bytes_max + 1)

    def _open(self, name: str) -> int:
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        return os.open(self.path / name, flags)
