"""Give children a PID namespace of their own, whose end is the end of everything in it. Linux only.

The first process of such a namespace is its `init`: when it ends, however that came, the kernel
kills every other process in the namespace and waits for them all before the `init` is seen to have
ended. No descendant can leave it, whatever it does to its session, parents, signals, descriptors
or environment.
"""

import ctypes
import os
from pathlib import Path
from typing import Final

_CLONE_NEWNS: Final = 0x00020000
_CLONE_NEWUSER: Final = 0x10000000
_CLONE_NEWPID: Final = 0x20000000
_MS_NOSUID: Final = 0x2
_MS_NODEV: Final = 0x4
_MS_NOEXEC: Final = 0x8
_MS_REC: Final = 0x4000
_MS_SLAVE: Final = 0x80000
_SELF: Final = Path("/proc/self")

_LIBC: Final = ctypes.CDLL(None, use_errno=True)
_LIBC.unshare.argtypes = (ctypes.c_int,)
_LIBC.unshare.restype = ctypes.c_int
_LIBC.mount.argtypes = (*(ctypes.c_char_p,) * 3, ctypes.c_ulong, ctypes.c_char_p)
_LIBC.mount.restype = ctypes.c_int


def give_children_a_pid_namespace() -> None:
    """Let the next child be the first process of a new PID namespace; it has to be the last, too.

    Without the privilege for that, a user namespace is made around it, in which this process and
    its children keep their user and group, have no others, and set-user-id programs gain nothing.

    Raises:
        OSError: this machine does not allow it, or this process has more than one thread. A
            process for which it failed is not to be used further.
    """
    try:
        _unshare(_CLONE_NEWPID)
    except PermissionError:
        uid, gid = os.geteuid(), os.getegid()
        _unshare(_CLONE_NEWUSER | _CLONE_NEWPID)
        (_SELF / "setgroups").write_text("deny")
        (_SELF / "uid_map").write_text(f"{uid} {uid} 1")
        (_SELF / "gid_map").write_text(f"{gid} {gid} 1")


def mount_own_proc() -> None:
    """Mount the /proc of this process's PID namespace, seen by it and its descendants alone.

    Mounts of the host are seen as they come and go, what is mounted in here is not seen there.

    Raises:
        OSError: that is not allowed, as in containers that hide parts of /proc.
    """
    _unshare(_CLONE_NEWNS)
    _mount(None, "/", None, _MS_REC | _MS_SLAVE)
    _mount("proc", "/proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)


def _unshare(flags: int) -> None:
    if _LIBC.unshare(flags):
        code = ctypes.get_errno()
        raise OSError(code, f"unshare {flags:#x}: {os.strerror(code)}")


def _mount(source: str | None, target: str, kind: str | None, flags: int) -> None:
    words = [None if word is None else word.encode() for word in (source, target, kind)]
    if _LIBC.mount(*words, flags, None):
        code = ctypes.get_errno()
        raise OSError(code, f"mount {kind or 'as slave'} on {target}: {os.strerror(code)}")
