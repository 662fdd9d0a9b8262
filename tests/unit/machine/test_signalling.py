import dataclasses
import json
import os
import signal
from pathlib import Path

import pytest
from tests.unit.machine.fakes import AS_NOBODY, RunPython, Start

from tenure.machine import signalling
from tenure.machine.process import (
    DeathProof,
    Doubt,
    Observation,
    ProcessIdentity,
    identify,
    observe,
)
from tenure.machine.signalling import Denied, Gone, Sent, signal_process

SIGNAL = """
import json, sys
from tenure.machine import ProcessIdentity, signal_process
sent = signal_process(ProcessIdentity.from_json(json.loads(sys.argv[1])), 9)
print(sent.kind, sent.reason)
"""


def identified(pid: int) -> ProcessIdentity:
    identity = identify(pid)
    assert identity is not None
    return identity


def open_descriptors() -> set[str]:
    return {path.name for path in Path("/proc/self/fd").iterdir()}


def test_a_signal_reaches_the_process_that_was_named(start: Start) -> None:
    child = start()
    assert signal_process(identified(child.pid), signal.SIGTERM) == Sent()
    assert child.wait() == -signal.SIGTERM


def test_a_later_bearer_of_the_number_is_not_signalled(start: Start) -> None:
    child = start()
    identity = identified(child.pid)
    earlier = dataclasses.replace(identity, start_ticks=identity.start_ticks - 1)
    assert signal_process(earlier, signal.SIGKILL) == Gone(DeathProof.OTHER_START)
    assert child.poll() is None


def test_a_reaped_process_is_gone(start: Start) -> None:
    child = start()
    identity = identified(child.pid)
    child.kill()
    child.wait()
    assert signal_process(identity, signal.SIGTERM) == Gone(DeathProof.NO_SUCH_PROCESS)


def test_a_zombie_is_gone(start: Start) -> None:
    child = start(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert signal_process(identified(child.pid), signal.SIGTERM) == Gone(DeathProof.FINISHED)


def test_a_process_of_another_namespace_is_not_signalled(start: Start) -> None:
    child = start()
    identity = identified(child.pid)
    other = dataclasses.replace(identity, pid_namespace=identity.pid_namespace + 1)
    assert signal_process(other, signal.SIGKILL) == Denied(Doubt.OTHER_NAMESPACE)
    assert child.poll() is None


@pytest.mark.needs_root
def test_another_users_process_is_denied(start: Start, run_python: RunPython) -> None:
    child = start(user=65533, group=65533, extra_groups=[])
    text = json.dumps(identified(child.pid).to_json())
    assert run_python(AS_NOBODY + SIGNAL, text) == "denied denied"
    assert child.poll() is None


def test_a_process_that_ends_after_the_check_is_gone(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = start()
    identity = identified(child.pid)

    def observe_then_end(named: ProcessIdentity, **_: Path) -> Observation:
        seen = observe(named)
        child.kill()
        child.wait()
        return seen

    monkeypatch.setattr(signalling, "observe", observe_then_end)
    before = open_descriptors()
    assert signal_process(identity, signal.SIGTERM) == Gone(DeathProof.NO_SUCH_PROCESS)
    assert open_descriptors() == before


@pytest.mark.parametrize("ticks", [0, -1])
def test_no_descriptor_is_left_open(start: Start, ticks: int) -> None:
    identity = identified(start().pid)
    named = dataclasses.replace(identity, start_ticks=identity.start_ticks + ticks)
    before = open_descriptors()
    signal_process(named, signal.SIGCONT)
    assert open_descriptors() == before


@pytest.mark.parametrize("signum", [0, -1, 1000])
def test_what_is_no_signal_is_refused(signum: int) -> None:
    with pytest.raises(ValueError, match="no signal of this host"):
        signal_process(identified(os.getpid()), signum)
