"""Who inherited a lock is found, whatever became of its file."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.unit.machine.fakes import Start

from tenure.machine.inheritor import inherits_lock, lock_holders, lock_inheritors
from tenure.machine.lock import FileInode, HeldLock, acquire
from tenure.machine.process import identify
from tenure.machine.scan import Scan


def anything(_path: Path) -> bool:
    return True


def taken(folder: Path) -> HeldLock:
    lock = acquire(folder / "lock")
    assert lock is not None
    return lock


def pids(scan: Scan) -> Sequence[int]:
    return [identity.pid for identity in scan.found]


@pytest.mark.parametrize("fate", ["there", "deleted", "replaced"])
def test_an_heir_is_found_whatever_became_of_the_file(
    tmp_path: Path, start: Start, fate: str
) -> None:
    with taken(tmp_path) as lock:
        heir = start(pass_fds=[lock.fileno()])
    start()
    if fate != "there":
        lock.path.unlink()
    if fate == "replaced":
        lock.path.touch()
    for find in (lock_inheritors, lock_holders):
        assert pids(find(lock.inode, is_name=anything)) == [heir.pid]
    heir.kill()
    heir.wait()
    assert pids(lock_holders(lock.inode, is_name=anything)) == []


def test_who_took_the_lock_holds_it_and_did_not_inherit_it(tmp_path: Path) -> None:
    with taken(tmp_path) as lock:
        assert pids(lock_inheritors(lock.inode, is_name=anything)) == []
        assert pids(lock_holders(lock.inode, is_name=anything)) == [os.getpid()]


def test_who_has_the_file_open_does_not_hold_it(tmp_path: Path, start: Start) -> None:
    with taken(tmp_path) as lock, lock.path.open() as file:
        reader = start(pass_fds=[file.fileno()])
        identity = identify(reader.pid)
        assert identity is not None
        assert inherits_lock(identity, lock.inode, is_name=anything) is False


def test_a_name_that_does_not_count_is_another_file(tmp_path: Path, start: Start) -> None:
    with taken(tmp_path) as lock:
        heir = start(pass_fds=[lock.fileno()])
    lock.path.unlink()
    names: list[Path] = []

    def note(path: Path) -> bool:
        names.append(path)
        return False

    assert pids(lock_holders(lock.inode, is_name=note)) == []
    assert set(names) == {lock.path}
    identity = identify(heir.pid)
    assert identity is not None
    assert inherits_lock(identity, lock.inode, is_name=note) is False
    assert inherits_lock(identity, lock.inode, is_name=anything) is True


def test_who_is_older_than_the_lock_is_left_out(tmp_path: Path, start: Start) -> None:
    with taken(tmp_path) as lock:
        heir = start(pass_fds=[lock.fileno()])
    identity = identify(heir.pid)
    assert identity is not None
    later = identity.start_ticks + 1
    assert pids(lock_holders(lock.inode, is_name=anything, since_ticks=later)) == []


def test_nothing_is_known_of_who_has_ended(tmp_path: Path, start: Start) -> None:
    ended = start(["true"])
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    identity = identify(ended.pid)
    assert identity is not None
    ended.wait()
    status = tmp_path.stat()
    lock = FileInode(device=status.st_dev, inode=status.st_ino)
    assert inherits_lock(identity, lock, is_name=anything) is None
