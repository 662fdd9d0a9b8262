import dataclasses
import json
import os
import shutil
from pathlib import Path

import pytest
from tests.unit.machine.fakes import (
    AS_NOBODY,
    OTHER_BOOT,
    OTHER_NAMESPACE,
    FakeHost,
    RunPython,
    Start,
    Unshare,
    stat_line,
    wait_for_end,
)

from tenure.machine.host import INITIAL_PID_NAMESPACE, read_host
from tenure.machine.process import (
    Alive,
    Dead,
    DeathProof,
    Doubt,
    Observation,
    ProcessIdentity,
    Unknown,
    identify,
    observe,
    pid_exists,
)
from tenure.machine.procfs import parse_stat

OBSERVE = """
import json, sys
from tenure.machine import ProcessIdentity, observe
seen = observe(ProcessIdentity.from_json(json.loads(sys.argv[1])))
print(seen.kind, getattr(seen, "reason", ""))
"""
IDENTIFY = """
import json, sys
from tenure.machine import identify
print(json.dumps(identify(int(sys.argv[1])).to_json()))
"""
END_ONLY_THE_LEADER = """
import ctypes, platform, sys, threading
from pathlib import Path
def work():
    leader = Path("/proc/self/stat")
    while leader.read_text().rpartition(")")[2].split()[0] != "Z":
        pass
    print("alone", flush=True)
    sys.stdin.read()
threading.Thread(target=work).start()
exit_of_one_thread = {"x86_64": 60, "aarch64": 93}[platform.machine()]
ctypes.CDLL(None).syscall(exit_of_one_thread, 0)
"""


def identified(pid: int) -> ProcessIdentity:
    identity = identify(pid)
    assert identity is not None
    return identity


def fake_identity(host: FakeHost, pid: int = 77) -> ProcessIdentity:
    identity = identify(pid, proc_root=host.proc, etc_root=host.etc)
    assert identity is not None
    return identity


def fake_observe(host: FakeHost, identity: ProcessIdentity) -> Observation:
    return observe(identity, proc_root=host.proc, etc_root=host.etc, exists=host.exists)


@pytest.fixture
def sample() -> ProcessIdentity:
    return identified(os.getpid())


def test_this_process_is_alive(sample: ProcessIdentity) -> None:
    assert observe(sample) == Alive()


def test_a_killed_and_reaped_child_is_dead(start: Start) -> None:
    child = start()
    identity = identified(child.pid)
    assert observe(identity) == Alive()
    child.kill()
    child.wait()
    assert observe(identity) == Dead(DeathProof.NO_SUCH_PROCESS)


def test_a_zombie_is_dead_and_still_has_an_identity(start: Start) -> None:
    child = start(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert observe(identified(child.pid)) == Dead(DeathProof.FINISHED)


def test_a_leader_that_ended_before_its_threads_is_alive(start: Start) -> None:
    child = start([shutil.which("python3") or "python3", "-c", END_ONLY_THE_LEADER])
    assert child.stdout is not None
    assert child.stdout.readline() == b"alone\n"
    identity = identified(child.pid)
    assert observe(identity) == Alive()
    child.kill()
    child.wait()
    assert observe(identity) == Dead(DeathProof.NO_SUCH_PROCESS)


def test_a_number_that_was_given_again_is_dead(sample: ProcessIdentity) -> None:
    earlier = dataclasses.replace(sample, start_ticks=sample.start_ticks - 1)
    assert observe(earlier) == Dead(DeathProof.OTHER_START)


def test_a_command_name_may_look_like_the_fields_behind_it(start: Start, tmp_path: Path) -> None:
    program = tmp_path / "a) R 1 (b"
    shutil.copy(shutil.which("cat") or "/bin/cat", program)
    child = start([program])
    assert b"(a) R 1 (b)" in Path(f"/proc/{child.pid}/stat").read_bytes()
    identity = identified(child.pid)
    # In the same tick or a later one than this process, and in no field of the name.
    assert identity.start_ticks >= identified(os.getpid()).start_ticks
    assert observe(identity) == Alive()


def test_nobody_has_no_identity(start: Start) -> None:
    child = start()
    child.kill()
    child.wait()
    assert identify(child.pid) is None


def test_another_machine_is_unknown(sample: ProcessIdentity) -> None:
    other = dataclasses.replace(sample, machine_id="0" * 16)
    assert observe(other) == Unknown(Doubt.OTHER_MACHINE)


def test_another_boot_of_this_host_proves_death(fake_host: FakeHost) -> None:
    fake_host.set_process(77, stat_line())
    identity = fake_identity(fake_host)
    fake_host.set_boot(OTHER_BOOT)
    assert fake_observe(fake_host, identity) == Dead(DeathProof.OTHER_BOOT)


@pytest.mark.parametrize(
    ("recorded_in", "seen_from", "expected"),
    [
        (INITIAL_PID_NAMESPACE, OTHER_NAMESPACE, Dead(DeathProof.OTHER_BOOT)),
        (OTHER_NAMESPACE, INITIAL_PID_NAMESPACE, Dead(DeathProof.OTHER_BOOT)),
        (OTHER_NAMESPACE, OTHER_NAMESPACE + 1, Unknown(Doubt.OTHER_BOOT_UNPROVEN)),
        (OTHER_NAMESPACE, OTHER_NAMESPACE, Unknown(Doubt.OTHER_BOOT_UNPROVEN)),
    ],
)
def test_between_containers_another_boot_proves_nothing(
    fake_host: FakeHost, recorded_in: int, seen_from: int, expected: Observation
) -> None:
    fake_host.set_process(77, stat_line())
    fake_host.set_namespace(recorded_in)
    identity = fake_identity(fake_host)
    fake_host.set_boot(OTHER_BOOT)
    fake_host.set_namespace(seen_from)
    assert fake_observe(fake_host, identity) == expected


def test_another_namespace_is_unknown(sample: ProcessIdentity) -> None:
    other = dataclasses.replace(sample, pid_namespace=sample.pid_namespace + 1)
    assert observe(other) == Unknown(Doubt.OTHER_NAMESPACE)


@pytest.mark.needs_root
def test_a_process_seen_from_a_real_other_namespace_is_unknown(
    start: Start, run_python: RunPython, unshare: Unshare
) -> None:
    text = json.dumps(identified(start().pid).to_json())
    wrapper = unshare("--pid", "--fork", "--mount-proc")
    assert run_python(OBSERVE, text, wrapper=wrapper) == "unknown other-namespace"


@pytest.mark.needs_root
def test_a_process_is_the_same_in_another_time_namespace(
    start: Start, run_python: RunPython, unshare: Unshare
) -> None:
    identity = identified(start().pid)
    wrapper = unshare("--time", "--boottime", "100000", "--fork")
    inside = json.loads(run_python(IDENTIFY, str(identity.pid), wrapper=wrapper))
    assert ProcessIdentity.from_json(inside) == identity
    text = json.dumps(identity.to_json())
    assert run_python(OBSERVE, text, wrapper=wrapper).strip() == "alive"


@pytest.mark.needs_root
def test_a_process_hidden_by_hidepid_is_unknown(
    start: Start, run_python: RunPython, unshare: Unshare
) -> None:
    identity = identified(start().pid)
    hide = "mount -t proc -o hidepid=invisible proc /proc && exec "
    wrapper = [*unshare("--mount"), "sh", "-c", hide + '"$@"', "sh"]
    said = run_python(AS_NOBODY + OBSERVE, json.dumps(identity.to_json()), wrapper=wrapper)
    assert said == "unknown hidden"


@pytest.mark.needs_root
def test_another_users_process_is_seen_by_a_user_without_privileges(
    start: Start, run_python: RunPython
) -> None:
    child = start(user=65533, group=65533, extra_groups=[])
    text = json.dumps(identified(child.pid).to_json())
    assert run_python(AS_NOBODY + OBSERVE, text) == "alive"
    child.kill()
    child.wait()
    assert run_python(AS_NOBODY + OBSERVE, text) == "dead no-such-process"


def test_a_number_that_proc_hides_and_the_kernel_knows_is_unknown(fake_host: FakeHost) -> None:
    fake_host.set_process(77, stat_line())
    identity = fake_identity(fake_host)
    fake_host.remove_process(77)
    assert fake_observe(fake_host, identity) == Dead(DeathProof.NO_SUCH_PROCESS)
    fake_host.known.add(77)
    assert fake_observe(fake_host, identity) == Unknown(Doubt.HIDDEN)


def test_a_number_given_again_between_two_questions_is_looked_at_again(
    fake_host: FakeHost,
) -> None:
    fake_host.set_process(77, stat_line())
    identity = fake_identity(fake_host)
    fake_host.remove_process(77)

    def given_again(pid: int) -> bool:
        fake_host.set_process(pid, stat_line(start=501))
        return True

    seen = observe(identity, proc_root=fake_host.proc, etc_root=fake_host.etc, exists=given_again)
    assert seen == Dead(DeathProof.OTHER_START)


@pytest.mark.parametrize("text", ["", "77 (cat", "77 (cat) S 1 2", "77 (cat) " + "x " * 50])
def test_an_unreadable_stat_is_unknown(fake_host: FakeHost, text: str) -> None:
    fake_host.set_process(77, stat_line())
    identity = fake_identity(fake_host)
    fake_host.set_process(77, text)
    seen = fake_observe(fake_host, identity)
    assert isinstance(seen, Unknown)
    assert seen.reason is Doubt.UNREADABLE


def test_an_unreadable_host_is_unknown(fake_host: FakeHost) -> None:
    fake_host.set_process(77, stat_line())
    identity = fake_identity(fake_host)
    fake_host.set_boot("garbled")
    seen = fake_observe(fake_host, identity)
    assert isinstance(seen, Unknown)
    assert seen.reason is Doubt.UNREADABLE


def test_denied_permission_is_unknown(fake_host: FakeHost, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_host.set_process(77, stat_line())
    identity = fake_identity(fake_host)

    def denied(*_: object, **__: object) -> None:
        raise PermissionError(1, "hidepid=1 answers like this")

    monkeypatch.setattr("tenure.machine.process.read_stat", denied)
    seen = fake_observe(fake_host, identity)
    assert isinstance(seen, Unknown)
    assert seen.reason is Doubt.DENIED


@pytest.mark.parametrize("state", ["R", "S", "D", "T", "t", "I"])
def test_every_other_state_is_alive(fake_host: FakeHost, state: str) -> None:
    fake_host.set_process(77, stat_line(state=state))
    assert fake_observe(fake_host, fake_identity(fake_host)) == Alive()


def test_an_offset_of_a_fraction_of_a_tick_is_unknown(fake_host: FakeHost) -> None:
    fake_host.set_process(77, stat_line())
    identity = fake_identity(fake_host)
    fake_host.set_offset_ns(1)
    seen = fake_observe(fake_host, identity)
    assert isinstance(seen, Unknown)
    assert seen.reason is Doubt.UNREADABLE
    with pytest.raises(OSError, match="fraction of a tick"):
        fake_identity(fake_host)


def test_the_kernel_knows_this_process_and_not_a_reaped_one(start: Start) -> None:
    child = start()
    assert pid_exists(os.getpid())
    child.kill()
    child.wait()
    assert not pid_exists(child.pid)


def test_waiting_for_the_end_of_a_process_needs_no_parenthood(start: Start) -> None:
    child = start(["sh", "-c", "exec 9<&0; cat <&9 & echo $!"])
    assert child.stdout is not None
    assert child.stdin is not None
    identity = identified(int(child.stdout.readline()))
    child.wait()
    assert observe(identity) == Alive()
    child.stdin.close()
    wait_for_end(identity.pid)
    assert isinstance(observe(identity), Dead)


def test_json_is_camel_case_and_comes_back_the_same(sample: ProcessIdentity) -> None:
    written = sample.to_json()
    assert list(written) == ["machineId", "bootId", "pidNamespace", "pid", "startTicks"]
    assert ProcessIdentity.from_json(json.loads(json.dumps(written))) == sample


@pytest.mark.parametrize(
    "change",
    [
        {"pid": True},
        {"pid": 0},
        {"pid": -1},
        {"pid": 4_194_305},
        {"pid": 1.0},
        {"pid": "1"},
        {"startTicks": -1},
        {"startTicks": 2**53},
        {"pidNamespace": 0},
        {"machineId": "A" * 16},
        {"machineId": "a" * 16 + "\n"},
        {"bootId": 5},
        {"bootId": "x"},
        {"more": 1},
    ],
)
def test_json_out_of_form_is_refused(sample: ProcessIdentity, change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="invalid process identity"):
        ProcessIdentity.from_json(sample.to_json() | change)


@pytest.mark.parametrize("value", [None, [], "x", {}, {"pid": 1}])
def test_json_of_another_kind_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="allowed is an object of exactly"):
        ProcessIdentity.from_json(value)


def test_a_stat_line_is_parsed_from_its_last_parenthesis() -> None:
    stat = parse_stat(stat_line(comm="x) Z (y) 1 2", state="S", start=9).encode())
    assert (stat.state, stat.start_ticks, stat.threads) == ("S", 9, 1)


def test_the_namespace_of_the_writer_is_recorded(sample: ProcessIdentity) -> None:
    assert sample.pid_namespace == read_host().pid_namespace
