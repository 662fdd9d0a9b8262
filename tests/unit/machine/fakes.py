"""A /proc made of files, and how to wait for a real process."""

import os
import select
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

OTHER_BOOT = "00000000-0000-4000-8000-000000000000"
OTHER_NAMESPACE = 4026532999
RAW_MACHINE_ID = "0123456789abcdef0123456789abcdef"

AS_NOBODY = """
import ctypes, json, os
import tenure.machine
for name in tenure.machine.__all__:  # loads what this user may load and the next may not
    getattr(tenure.machine, name)
tenure.machine.current_incarnation()
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
# PR_SET_DUMPABLE: who changed its user may not even read its own /proc/self/ns any more.
ctypes.CDLL(None).prctl(4, 1)
"""

Start = Callable[..., subprocess.Popen[bytes]]
RunPython = Callable[..., str]
Unshare = Callable[..., list[str]]


def wait_for_end(pid: int) -> None:
    """Wait until a process, not necessarily a child, has ended and closed its files."""
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        select.select([pidfd], [], [])
    finally:
        os.close(pidfd)


def stat_line(
    *, comm: str = "cat", state: str = "S", threads: int = 1, start: int = 500, flags: int = 0
) -> str:
    fields = ["0"] * 50
    fields[0], fields[6], fields[17], fields[19] = state, str(flags), str(threads), str(start)
    fields[47], fields[48] = "4096", "8192"
    return f"77 ({comm}) {' '.join(fields)}\n"


@dataclass
class FakeHost:
    """A /proc and an /etc made of files, with a kernel that knows some numbers."""

    root: Path
    known: set[int] = field(default_factory=set)

    @property
    def proc(self) -> Path:
        return self.root / "proc"

    @property
    def etc(self) -> Path:
        return self.root / "etc"

    def write(self, name: str, text: str | bytes) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())

    def link(self, name: str, text: str) -> None:
        path = self.proc / "self" / "ns" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.symlink_to(text)

    def set_boot(self, boot_id: str) -> None:
        self.write("proc/sys/kernel/random/boot_id", boot_id + "\n")

    def set_namespace(self, inode: int) -> None:
        self.link("pid", f"pid:[{inode}]")

    def set_offset_ns(self, offset_ns: int) -> None:
        seconds, rest = divmod(offset_ns, 1_000_000_000)
        self.write("proc/self/timens_offsets", f"monotonic 0 0\nboottime {seconds} {rest}\n")

    def set_process(self, pid: int, line: str, environment: bytes = b"A=1\0") -> None:
        self.known.add(pid)
        self.write(f"proc/{pid}/stat", line)
        self.write(f"proc/{pid}/environ", environment)

    def remove_process(self, pid: int) -> None:
        self.known.discard(pid)
        shutil.rmtree(self.proc / str(pid))

    def exists(self, pid: int) -> bool:
        return pid in self.known
