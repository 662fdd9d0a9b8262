import dataclasses
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, strategies as st
from tests.unit.machine.fakes import RunPython, Start

from tenure.machine.incarnation import (
    INCARNATION_LENGTH_MAX,
    current_incarnation,
    observe_incarnation,
    parse_incarnation,
    render_incarnation,
)
from tenure.machine.process import (
    JSON_INTEGER_MAX,
    PID_MAX,
    Alive,
    Dead,
    DeathProof,
    Doubt,
    ProcessIdentity,
    Unknown,
    identify,
)

BOOT = "11111111-2222-4333-8444-555555555555"
NONCE = "0123456789abcdef0123456789abcdef"
FORK = """
import os, sys
from tenure.machine import current_incarnation
before = current_incarnation()
reading, writing = os.pipe()
if child := os.fork():
    os.close(writing)
    print(before, open(reading).read(), current_incarnation())
    os.waitpid(child, 0)
else:
    os.write(writing, current_incarnation().encode())
    os._exit(0)
"""
TELL = """
import sys
from tenure.machine import current_incarnation
print(current_incarnation(), flush=True)
sys.stdin.read()
"""

identities = st.builds(
    ProcessIdentity,
    machine_id=st.text("0123456789abcdef", min_size=16, max_size=16),
    boot_id=st.uuids().map(str),
    pid_namespace=st.integers(1, JSON_INTEGER_MAX),
    pid=st.integers(1, PID_MAX),
    start_ticks=st.integers(0, JSON_INTEGER_MAX),
)


def test_an_incarnation_names_this_process_and_stays_the_same() -> None:
    text = current_incarnation()
    assert text == current_incarnation()
    assert parse_incarnation(text) == identify(os.getpid())
    assert observe_incarnation(text) == Alive()


def test_threads_that_ask_at_once_get_one_answer() -> None:
    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(lambda _: current_incarnation(), range(64)))
    assert len(set(texts)) == 1


def test_a_fork_has_another_incarnation(run_python: RunPython) -> None:
    before, child, after = run_python(FORK).split()
    assert before == after != child
    assert child.rpartition(":")[2] != before.rpartition(":")[2]
    assert child.split(":")[4] != before.split(":")[4]


def test_the_incarnation_of_a_killed_process_is_dead(start: Start) -> None:
    child = start([sys.executable, "-c", TELL])
    assert child.stdout is not None
    text = child.stdout.readline().decode().strip()
    assert observe_incarnation(text) == Alive()
    child.kill()
    child.wait()
    assert observe_incarnation(text) == Dead(DeathProof.NO_SUCH_PROCESS)


@given(identities)
def test_every_identity_comes_back_from_a_text_that_fits(identity: ProcessIdentity) -> None:
    text = render_incarnation(identity, nonce=NONCE)
    assert parse_incarnation(text) == identity
    assert text.isascii()
    assert text.isprintable()
    assert len(text.encode("utf-16-le")) // 2 <= INCARNATION_LENGTH_MAX


@given(st.text())
def test_no_text_is_too_strange_to_be_unknown(text: str) -> None:
    assert parse_incarnation(text) is None
    assert observe_incarnation(text) == Unknown(Doubt.NOT_OURS)


@pytest.mark.parametrize(
    "numbers",
    [
        "01:2:3",
        "1:02:3",
        "1:2:+3",
        "0:2:3",
        "1:0:3",
        "1:4194305:3",
        "1:2",
        "1:2:3:4",
        "1:2:9007199254740992",
        "1:\u0662:3",
    ],
)
def test_numbers_of_another_form_are_not_ours(numbers: str) -> None:
    text = f"tenure-1:{'a' * 16}:{BOOT}:{numbers}:{NONCE}"
    assert parse_incarnation(text) is None


def test_a_line_end_behind_an_incarnation_is_not_ours() -> None:
    assert parse_incarnation(current_incarnation() + "\n") is None


def test_another_machines_incarnation_is_unknown() -> None:
    identity = identify(os.getpid())
    assert identity is not None
    elsewhere = dataclasses.replace(identity, machine_id="0" * 16)
    text = render_incarnation(elsewhere, nonce=NONCE)
    assert observe_incarnation(text) == Unknown(Doubt.OTHER_MACHINE)


def test_a_nonce_of_another_form_is_refused() -> None:
    identity = identify(os.getpid())
    assert identity is not None
    with pytest.raises(ValueError, match="32 hexadecimal digits"):
        render_incarnation(identity, nonce="x")
