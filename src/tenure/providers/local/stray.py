"""Tell what processes that carry the mark are, when no folder says so any more."""

import os
from pathlib import Path

from tenure.machine import Alive, FileInode, ProcessIdentity, Scan, observe
from tenure.machine.procfs import read_stat
from tenure.providers.local.launch import AGENT_MODULE
from tenure.wire import attempt_folder


def tell_apart(seen: Scan, *, is_kept: bool) -> tuple[list[ProcessIdentity], list[ProcessIdentity]]:
    """Tell agents and keepers from what they started, which may look the same before its exec."""
    candidates = {found.pid: found for found in seen.found if _is_agent(found)}
    parents = {pid: _parent(pid) for pid in candidates}
    tops = [found for pid, found in candidates.items() if parents[pid] not in candidates]
    if not is_kept:
        return tops, []
    below = {top.pid for top in tops}
    agents = [found for pid, found in candidates.items() if parents[pid] in below]
    return agents, tops


def inherited_lock(agent: ProcessIdentity) -> FileInode | None:
    """Name the lock that an agent holds, also when its file was deleted; None if that is unseen."""
    try:
        number = _variable(agent, attempt_folder.LOCK_VARIABLE)
        if number is None or not number.isdigit():
            return None
        status = (Path("/proc") / str(agent.pid) / "fd" / number.decode()).stat()
    except OSError:
        return None
    is_agent = isinstance(observe(agent), Alive)
    return FileInode(device=status.st_dev, inode=status.st_ino) if is_agent else None


def _parent(pid: int) -> int | None:
    try:
        stat = read_stat(pid)
    except OSError:
        return None
    return None if stat is None else stat.parent_pid


def _is_agent(identity: ProcessIdentity) -> bool:
    try:
        words = (Path("/proc") / str(identity.pid) / "cmdline").read_bytes().split(b"\0")
        has_folder = _variable(identity, attempt_folder.FOLDER_VARIABLE) is not None
    except OSError:
        return False
    is_agent = AGENT_MODULE.encode() in words and has_folder
    return is_agent and isinstance(observe(identity), Alive)


def _variable(identity: ProcessIdentity, name: str) -> bytes | None:
    prefix = os.fsencode(f"{name}=")
    entries = (Path("/proc") / str(identity.pid) / "environ").read_bytes().split(b"\0")
    found = [entry.removeprefix(prefix) for entry in entries if entry.startswith(prefix)]
    return found[0] if found else None
