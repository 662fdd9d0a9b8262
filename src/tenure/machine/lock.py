"""Hold a file locked for as long as anybody lives who inherited the lock.

flock(2) belongs to the open file description, not to a process: every descriptor that was copied
from it by fork or kept across exec holds the same lock, and the kernel frees it when the last of
them is closed, however their processes ended. A free lock thus proves that nobody who got it is
left, also between fork and exec, where a look at processes sees nothing.

What that takes: a local file system (elsewhere flock is emulated, ends with a lease, and is not
inherited), the recorded inode (a file made anew under the same name is free from the start), and,
for a proof, the machine and boot on which the lock was taken; that last is the caller's to check.
"""

import errno
import fcntl
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from tenure.machine.procfs import read_mounts

ACQUIRE_TRIES_MAX: Final = 64
"""Tries against replaced files and passing lookers, each of which is over in microseconds."""

REMOTE_FILE_SYSTEMS: Final = frozenset(
    {
        "9p",
        "afs",
        "ceph",
        "cifs",
        "fuse.ceph",
        "fuse.glusterfs",
        "fuse.sshfs",
        "lustre",
        "nfs",
        "nfs4",
        "smb3",
        "smbfs",
        "virtiofs",
    }
)
"""Where flock does not mean what is said above."""

_OPEN_FLAGS: Final = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY


@dataclass(frozen=True, slots=True, kw_only=True)
class FileInode:
    """One file of this machine, whatever its name."""

    device: int
    inode: int


@dataclass(slots=True, kw_only=True)
class HeldLock:
    """An exclusive lock on one inode, held through one descriptor of this process.

    Closes at the end of a `with` block.
    """

    path: Path
    inode: FileInode
    """What the lock is on; to be recorded, and given to `is_held`."""
    _descriptor: int = field(repr=False)

    def fileno(self) -> int:
        """Give the descriptor, for `pass_fds` of `subprocess`: the way to pass it to one child.

        Raises:
            ValueError: the lock was released.
        """
        if self._descriptor < 0:
            message = f"cannot use the lock on {str(self.path)!r}: it was released"
            raise ValueError(message)
        return self._descriptor

    def inherit(self) -> int:
        """Keep the descriptor open across exec, and give it.

        From now on every program that any thread starts with open descriptors inherits the lock;
        for one child of `subprocess` rather use `pass_fds`, which keeps it from the others.

        Raises:
            ValueError: the lock was released.
        """
        os.set_inheritable(self.fileno(), True)  # noqa: FBT003  (the stdlib takes it by position)
        return self.fileno()

    def release(self) -> None:
        """Let go of this process's descriptor; repeated calls do nothing.

        The lock is free when no one who inherited it is left, and so not necessarily now.
        """
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def acquire(path: Path) -> HeldLock | None:
    """Lock a file exclusively without waiting, made with mode 0600 if missing.

    After locking, the path is read again: a file that was deleted or replaced meanwhile is let go
    and the new one tried. Somebody may still delete it later; whoever does must hold the lock.

    Returns:
        None when somebody holds it, or too many are trying at once.

    Raises:
        OSError: it cannot be opened, is no regular file or a symbolic link, is on a remote file
            system, or was replaced faster than it could be locked.
    """
    for _ in range(ACQUIRE_TRIES_MAX):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _OPEN_FLAGS, 0o600)
        is_kept = False
        try:
            inode = _checked_inode(descriptor, path)
            if not _try_exclusive(descriptor):
                if _inode_at(path) == inode:
                    return None
            elif _inode_at(path) == inode:
                is_kept = True
                return HeldLock(path=path, inode=inode, _descriptor=descriptor)
        finally:
            if not is_kept:
                os.close(descriptor)
    raise OSError(errno.EBUSY, "cannot lock a file: it is replaced all the time", str(path))


def is_held(path: Path, inode: FileInode | None = None) -> bool | None:
    """Say whether anybody holds the lock on a file, this process included. Changes nothing.

    Args:
        path: where the file was.
        inode: what was locked; without it, whatever is at the path now.

    Returns:
        None when that cannot be known: the file is missing, cannot be opened, is no regular file
        or another inode than the recorded one, or is on a remote file system. Only False is proof.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | _OPEN_FLAGS)
    except OSError:
        return None
    try:
        opened = _checked_inode(descriptor, path)
        if opened != (_inode_at(path) if inode is None else inode):
            return None
        return not _try_shared(descriptor)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _checked_inode(descriptor: int, path: Path) -> FileInode:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "cannot lock a file: it is no regular file", str(path))
    device = f"{os.major(status.st_dev)}:{os.minor(status.st_dev)}"
    kinds = {mount.file_system for mount in read_mounts() if mount.device == device}
    if remote := kinds & REMOTE_FILE_SYSTEMS:
        message = f"cannot lock a file: {min(remote)} is remote, allowed is a local file system"
        raise OSError(errno.ENOTSUP, message, str(path))
    return FileInode(device=status.st_dev, inode=status.st_ino)


def _inode_at(path: Path) -> FileInode | None:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    return FileInode(device=status.st_dev, inode=status.st_ino)


def _try_exclusive(descriptor: int) -> bool:
    # Who looks at a lock takes it shared for an instant. A shared lock that can be had as well
    # tells such a looker from a holder, so that no look makes anybody else's acquire fail.
    for _ in range(ACQUIRE_TRIES_MAX):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not _try_shared(descriptor):
                return False
            os.sched_yield()
        else:
            return True
    return False


def _try_shared(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    # Unlocked, and not just closed: a fork of another thread may just have copied the descriptor.
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return True
