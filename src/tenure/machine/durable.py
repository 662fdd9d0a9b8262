"""Change files so that a power loss leaves the old state or the new one, and nothing between."""

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

TEMPORARY_PREFIX: Final = ".tenure-tmp-"
"""How files begin that are being written. One that no living process writes is a crash's leftover
and may be deleted."""

_PRIVATE_MODE: Final = 0o700
_SHARED_BITS: Final = 0o077


def write_durably(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Put a file in place as a whole, and return only when it would survive a power loss.

    Readers see the old file or the new one. A symbolic link at the path is replaced, not followed.

    Args:
        path: where; its folder exists.
        data: the whole content.
        mode: exactly the permissions, whatever the umask.

    Raises:
        OSError: the old file is still there, unless it was the last sync of the folder that
            failed, where either may be found after a power loss; calling again is safe.
    """
    with _opened_folder(path.parent) as folder:
        temporary = TEMPORARY_PREFIX + secrets.token_hex(16)
        try:
            _write_synced(temporary, data, mode=mode, folder=folder)
            os.rename(temporary, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise
        os.fsync(folder)


def remove_durably(path: Path) -> bool:
    """Delete a file, and return only when it would stay deleted after a power loss.

    A file that is missing already is synced as well: who deleted it may have died before that.

    Returns:
        Whether the file was there.

    Raises:
        OSError: it may still be there, now or after a power loss.
    """
    with _opened_folder(path.parent) as folder:
        try:
            os.unlink(path.name, dir_fd=folder)
            was_there = True
        except FileNotFoundError:
            was_there = False
        os.fsync(folder)
    return was_there


def make_private_folder(path: Path) -> None:
    """Make a folder that only this user can enter, mode 0700, durably; its parent exists.

    One that exists is accepted if it is already such a folder, and never changed: it may be
    somebody's home.

    Raises:
        PermissionError: it is a symbolic link, no folder, another user's, or open to others.
        OSError: it cannot be made.
    """
    try:
        path.mkdir(mode=_PRIVATE_MODE)
    except FileExistsError:
        _require_private(path)
        return
    path.chmod(_PRIVATE_MODE)  # a umask may have taken bits of the owner's
    with _opened_folder(path.parent) as parent:
        os.fsync(parent)


def _require_private(path: Path) -> None:
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise _refusal(path, "it is no folder", "give another path")
    if status.st_uid != os.geteuid():
        raise _refusal(path, f"it belongs to uid {status.st_uid}", f"this is uid {os.geteuid()}")
    if status.st_mode & _SHARED_BITS:
        seen = f"its mode is {stat.S_IMODE(status.st_mode):04o}"
        raise _refusal(path, seen, "allowed is 0700; close it with chmod 700")


def _refusal(path: Path, seen: str, remedy: str) -> PermissionError:
    return PermissionError(f"cannot use {str(path)!r} as a private folder: {seen}, {remedy}")


@contextlib.contextmanager
def _opened_folder(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _write_synced(name: str, data: bytes, *, mode: int, folder: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(name, flags, 0o600, dir_fd=folder)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fchmod(descriptor, mode)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
