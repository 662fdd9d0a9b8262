import contextlib
import dataclasses
import fcntl
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.machine.fakes import Start, wait_for_end

from tenure.machine import lock
from tenure.machine.lock import FileInode, HeldLock, acquire, is_held
from tenure.machine.procfs import Mount

INHERIT = """
import os, sys
from pathlib import Path
from tenure.machine import acquire
held = acquire(Path(sys.argv[1]))
held.inherit()
print("held", flush=True)
os.execvp("cat", ["cat"])
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lock"


@contextlib.contextmanager
def locked(path: Path) -> Iterator[HeldLock]:
    held = acquire(path)
    assert held is not None
    with held:
        yield held


def test_a_lock_excludes_everybody_until_it_is_released(path: Path) -> None:
    with locked(path) as held:
        assert acquire(path) is None
        assert is_held(path) is True
        assert is_held(path, held.inode) is True
        assert path.stat().st_mode & 0o777 == 0o600
    assert is_held(path, held.inode) is False
    with locked(path):
        pass


def test_a_released_lock_has_no_descriptor(path: Path) -> None:
    with locked(path) as held:
        assert held.fileno() >= 0
    held.release()
    with pytest.raises(ValueError, match="it was released"):
        held.fileno()
    with pytest.raises(ValueError, match="it was released"):
        held.inherit()


def test_a_lock_is_held_until_the_grandchild_that_inherited_it_is_gone(
    start: Start, path: Path
) -> None:
    with locked(path) as held:
        child = start(["sh", "-c", "exec 9<&0; cat <&9 & echo $!"], pass_fds=[held.fileno()])
    assert child.stdout is not None
    assert child.stdin is not None
    grandchild = int(child.stdout.readline())
    child.wait()
    assert is_held(path, held.inode) is True
    assert acquire(path) is None
    child.stdin.close()
    wait_for_end(grandchild)
    assert is_held(path, held.inode) is False


def test_a_lock_is_not_passed_on_by_default(start: Start, path: Path) -> None:
    with locked(path) as held:
        start(close_fds=False)
    assert is_held(path, held.inode) is False


def test_an_inherited_lock_survives_exec(start: Start, path: Path) -> None:
    child = start([sys.executable, "-c", INHERIT, path])
    assert child.stdout is not None
    assert child.stdout.readline() == b"held\n"
    assert acquire(path) is None
    child.kill()
    child.wait()
    assert is_held(path) is False


def test_a_missing_file_cannot_be_known(path: Path) -> None:
    assert is_held(path) is None
    assert not path.exists()


def test_a_file_made_anew_cannot_be_known(path: Path) -> None:
    with locked(path) as held:
        path.unlink()
        assert is_held(path, held.inode) is None
        path.touch()
        assert is_held(path, held.inode) is None
        assert is_held(path) is False


def test_another_device_cannot_be_known(path: Path) -> None:
    with locked(path) as held:
        pass
    elsewhere = dataclasses.replace(held.inode, device=held.inode.device + 1)
    assert is_held(path, elsewhere) is None


def test_a_file_replaced_while_it_is_locked_is_locked_anew(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    try_exclusive = lock._try_exclusive
    replaced: list[os.stat_result] = []

    def lock_and_replace(descriptor: int) -> bool:
        got = try_exclusive(descriptor)
        if not replaced:
            replaced.append(os.fstat(descriptor))
            path.unlink()
        return got

    monkeypatch.setattr(lock, "_try_exclusive", lock_and_replace)
    with locked(path) as held:
        status = path.stat()
        assert held.inode == FileInode(device=status.st_dev, inode=status.st_ino)
        assert is_held(path) is True


def test_a_file_replaced_all_the_time_is_an_error(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "_inode_at", lambda _: None)
    with pytest.raises(OSError, match="replaced all the time"):
        acquire(path)


def test_who_looks_does_not_make_an_acquire_fail(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.touch()
    looker = os.open(path, os.O_RDONLY)
    fcntl.flock(looker, fcntl.LOCK_SH)
    looks: list[int] = []

    def let_the_looker_finish() -> None:
        looks.append(looker)
        fcntl.flock(looker, fcntl.LOCK_UN)

    monkeypatch.setattr(os, "sched_yield", let_the_looker_finish)
    with locked(path):
        assert looks == [looker]
    os.close(looker)


def test_a_look_is_over_although_a_fork_copied_its_descriptor(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.touch()
    flock = fcntl.flock
    copies: list[int] = []

    def lock_and_copy(descriptor: int, operation: int) -> None:
        flock(descriptor, operation)
        if operation & fcntl.LOCK_SH:
            copies.append(os.dup(descriptor))

    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", lock_and_copy)
        assert is_held(path) is False
    with locked(path):
        pass
    (copy,) = copies
    os.close(copy)


def test_two_who_look_do_not_see_each_other(path: Path) -> None:
    path.touch()
    looker = os.open(path, os.O_RDONLY)
    fcntl.flock(looker, fcntl.LOCK_SH)
    assert is_held(path) is False
    os.close(looker)


def test_a_lock_on_a_remote_file_system_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = path.parent.stat().st_dev
    mount = Mount(
        device=f"{os.major(device)}:{os.minor(device)}",
        point="/",
        file_system="nfs4",
        super_options=(),
    )
    path.touch()
    monkeypatch.setattr(lock, "read_mounts", lambda: (mount,))
    with pytest.raises(OSError, match="nfs4 is remote"):
        acquire(path)
    assert is_held(path) is None


def test_what_is_no_regular_file_is_refused(path: Path) -> None:
    os.mkfifo(path)
    with pytest.raises(OSError, match="no regular file"):
        acquire(path)
    assert is_held(path) is None


def test_a_symbolic_link_is_refused(path: Path, tmp_path: Path) -> None:
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        acquire(path)
    assert is_held(path) is None
    assert not (tmp_path / "elsewhere").exists()
