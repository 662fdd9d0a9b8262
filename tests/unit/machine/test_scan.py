import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.machine.fakes import AS_NOBODY, FakeHost, RunPython, Start, Unshare, stat_line

from tenure.machine import scan as scan_module
from tenure.machine.host import read_host
from tenure.machine.process import identify
from tenure.machine.scan import (
    ROUNDS_MAX,
    Scan,
    bears_environment,
    processes_with_environment,
)

NAME = "TENURE_TEST_MARK"
KERNEL_THREAD = 0x00200000

SCAN = """
import sys
from tenure.machine import processes_with_environment
scan = processes_with_environment("TENURE_TEST_MARK", sys.argv[1], since_ticks=int(sys.argv[2]))
print([one.pid for one in scan.found], scan.complete, list(scan.unreadable))
"""
STAY_UNDUMPABLE = """
import ctypes, os, sys
os.setresuid(int(sys.argv[1]), int(sys.argv[1]), int(sys.argv[1]))
ctypes.CDLL(None).prctl(4, 0)
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def mark() -> str:
    return os.urandom(16).hex()


def own_start() -> int:
    identity = identify(os.getpid())
    assert identity is not None
    return identity.start_ticks


def fake_scan(host: FakeHost, since_ticks: int = 0) -> Scan:
    return processes_with_environment(
        "A", "1", since_ticks=since_ticks, proc_root=host.proc, etc_root=host.etc
    )


def pids(scan: Scan) -> list[int]:
    return [identity.pid for identity in scan.found]


def marked(value: str) -> dict[str, str]:
    return dict(os.environ) | {NAME: value}


def test_bearers_of_the_entry_are_found_and_nobody_else(start: Start, mark: str) -> None:
    bearer = start(env=marked(mark))
    for value in (mark + "x", mark[:-1], "x" + mark):
        start(env=marked(value))
    start(env=dict(os.environ) | {"X_" + NAME: mark})
    scan = processes_with_environment(NAME, mark, since_ticks=own_start())
    assert scan.found == (identify(bearer.pid),)


def test_a_descendant_whose_parent_is_gone_is_found(start: Start, mark: str) -> None:
    child = start(["sh", "-c", "exec 9<&0; cat <&9 & echo $!"], env=marked(mark))
    assert child.stdout is not None
    orphan = int(child.stdout.readline())
    child.wait()
    assert pids(processes_with_environment(NAME, mark, since_ticks=own_start())) == [orphan]


def test_a_zombie_bears_nothing(start: Start, mark: str) -> None:
    child = start(["true"], env=marked(mark))
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    scan = processes_with_environment(NAME, mark, since_ticks=own_start())
    assert scan.found == ()
    assert child.pid not in scan.unreadable


def test_a_process_started_without_any_environment_is_no_doubt(start: Start, mark: str) -> None:
    child = start(env={})
    scan = processes_with_environment(NAME, mark, since_ticks=own_start())
    assert child.pid not in scan.unreadable


@pytest.mark.needs_root
@pytest.mark.parametrize(("uid", "is_doubt"), [(65534, True), (65533, False)])
def test_an_unreadable_process_is_a_doubt_only_under_our_own_user(
    start: Start, run_python: RunPython, mark: str, *, uid: int, is_doubt: bool
) -> None:
    child = start(["python3", "-c", STAY_UNDUMPABLE, str(uid)], env=marked(mark))
    assert child.stdout is not None
    assert child.stdout.readline() == b"ready\n"
    said = run_python(AS_NOBODY + SCAN, mark, str(own_start()))
    assert said.startswith("[] ")
    unreadable = json.loads(said[said.rindex("[") :])
    assert (child.pid in unreadable) is is_doubt
    if is_doubt:
        assert "False" in said


@pytest.mark.needs_root
def test_a_proc_that_hides_processes_makes_the_scan_incomplete(
    run_python: RunPython, unshare: Unshare, mark: str
) -> None:
    hide = "mount -t proc -o hidepid=invisible proc /proc && exec "
    wrapper = [*unshare("--mount"), "sh", "-c", hide + '"$@"', "sh"]
    later = str(2**53)  # nobody is that young, so that only the mount can be the reason
    assert run_python(AS_NOBODY + SCAN, mark, later, wrapper=wrapper) == "[] False []"
    assert run_python(SCAN, mark, later, wrapper=wrapper) == "[] True []"


def test_identities_carry_the_readers_namespace(fake_host: FakeHost) -> None:
    fake_host.set_process(77, stat_line())
    (found,) = fake_scan(fake_host).found
    assert (
        found.pid_namespace
        == read_host(proc_root=fake_host.proc, etc_root=fake_host.etc).pid_namespace
    )


def test_the_entry_is_matched_as_a_whole_at_every_place(fake_host: FakeHost) -> None:
    bearing = [b"A=1\0", b"A=1", b"B=\0A=1\0C=3\0", b"C=3\0A=1\0"]
    for pid, environment in enumerate(bearing, start=10):
        fake_host.set_process(pid, stat_line(), environment)
    for pid, environment in enumerate([b"A=12\0", b"BA=1\0", b"a=1\0", b"A=\0001\0"], start=20):
        fake_host.set_process(pid, stat_line(), environment)
    scan = fake_scan(fake_host)
    assert pids(scan) == [10, 11, 12, 13]
    assert scan.complete


def test_kernel_threads_are_without_environment(fake_host: FakeHost) -> None:
    fake_host.set_process(2, stat_line(flags=KERNEL_THREAD), b"")
    assert fake_scan(fake_host) == Scan(found=(), complete=True, unreadable=())


def test_a_process_in_the_middle_of_an_exec_makes_the_scan_incomplete(
    fake_host: FakeHost,
) -> None:
    fake_host.set_process(77, stat_line(), b"")  # bounds, and nothing between them
    assert fake_scan(fake_host) == Scan(found=(), complete=False, unreadable=(77,))


def test_a_leader_that_ended_before_its_threads_makes_the_scan_incomplete(
    fake_host: FakeHost,
) -> None:
    fake_host.set_process(77, stat_line(state="Z", threads=2), b"")
    assert fake_scan(fake_host) == Scan(found=(), complete=False, unreadable=(77,))


def test_who_started_before_the_entry_existed_is_left_out(fake_host: FakeHost) -> None:
    fake_host.set_process(77, stat_line(start=500), b"")
    fake_host.set_process(78, stat_line(start=501))
    scan = fake_scan(fake_host, since_ticks=501)
    assert (pids(scan), scan.complete) == ([78], True)


def test_a_process_made_during_the_scan_is_found(
    fake_host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_host.set_process(77, stat_line(), b"B=1\0")
    read = Path.read_bytes

    def read_and_fork(path: Path) -> bytes:
        if not fake_host.exists(5):
            fake_host.set_process(5, stat_line())
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", read_and_fork)
    assert pids(fake_scan(fake_host)) == [5]


def test_a_host_that_never_settles_makes_the_scan_incomplete(
    fake_host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_host.set_process(1, stat_line(), b"B=1\0")
    list_pids = scan_module._list_pids

    def fork_and_list(proc_root: Path) -> set[int]:
        fake_host.set_process(max(fake_host.known) + 1, stat_line(), b"B=1\0")
        return list_pids(proc_root)

    monkeypatch.setattr(scan_module, "_list_pids", fork_and_list)
    scan = fake_scan(fake_host)
    assert not scan.complete
    assert len(fake_host.known) == 1 + ROUNDS_MAX


def test_a_process_that_ends_during_the_scan_is_no_doubt(
    fake_host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_host.set_process(77, stat_line())
    read = Path.read_bytes

    def read_and_end(path: Path) -> bytes:
        text = read(path)
        fake_host.remove_process(77)
        return text

    monkeypatch.setattr(Path, "read_bytes", read_and_end)
    assert fake_scan(fake_host) == Scan(found=(), complete=True, unreadable=())


@pytest.mark.parametrize(("name", "value"), [("", "1"), ("A=B", "1"), ("A", "\0"), ("A\0", "1")])
def test_what_cannot_be_an_entry_is_refused(name: str, value: str) -> None:
    with pytest.raises(ValueError, match="cannot look for an environment entry"):
        processes_with_environment(name, value)


def test_one_process_is_asked_whether_it_bears_the_entry(start: Start, mark: str) -> None:
    bearer, other = identify(start(env=marked(mark)).pid), identify(start().pid)
    assert bearer is not None
    assert other is not None
    assert bears_environment(bearer, NAME, mark) is True
    assert bears_environment(bearer, NAME, mark[:-1]) is False
    assert bears_environment(other, NAME, mark) is False


def test_nothing_is_known_of_a_number_that_was_given_again(start: Start, mark: str) -> None:
    bearer = identify(start(env=marked(mark)).pid)
    assert bearer is not None
    before = replace(bearer, start_ticks=bearer.start_ticks - 1)
    assert bears_environment(before, NAME, mark) is None
