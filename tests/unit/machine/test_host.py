import json
import re
import time
from pathlib import Path

import pytest
from tests.unit.machine.fakes import OTHER_BOOT, RAW_MACHINE_ID, FakeHost, RunPython, Unshare

from tenure.machine.host import (
    BootTime,
    boot_id,
    boottime_ms,
    boottime_offset_ns,
    machine_id,
    pid_namespace_inode,
    read_host,
)

READ_BOOTTIME = "from tenure.machine import boottime_ms; print(boottime_ms())"
READ_HOST = "from tenure.machine import read_host; print(read_host())"


def digest(host: FakeHost) -> str:
    return machine_id(proc_root=host.proc, etc_root=host.etc)


def test_this_host_has_all_its_facts() -> None:
    host = read_host()
    assert re.fullmatch(r"[0-9a-f]{16}", host.machine_id)
    assert host.boot_id == boot_id()
    assert host.pid_namespace == Path("/proc/self/ns/pid").stat().st_ino == pid_namespace_inode()


def test_the_raw_machine_id_is_never_shown(fake_host: FakeHost) -> None:
    shown = digest(fake_host)
    assert re.fullmatch(r"[0-9a-f]{16}", shown)
    assert shown not in RAW_MACHINE_ID


def test_the_machine_id_outlives_a_reboot(fake_host: FakeHost) -> None:
    before = digest(fake_host)
    fake_host.set_boot(OTHER_BOOT)
    assert digest(fake_host) == before


@pytest.mark.parametrize("text", [None, "", "\n", "uninitialized\n", "0" * 32, "\xe9", "ab"])
def test_without_a_machine_id_a_reboot_makes_another_machine(
    fake_host: FakeHost, text: str | None
) -> None:
    if text is None:
        (fake_host.etc / "machine-id").unlink()
    else:
        fake_host.write("etc/machine-id", text)
    before = digest(fake_host)
    assert digest(fake_host) == before
    fake_host.set_boot(OTHER_BOOT)
    assert digest(fake_host) != before


def test_a_boot_id_that_is_no_uuid_is_an_error(fake_host: FakeHost) -> None:
    fake_host.set_boot("yesterday")
    with pytest.raises(OSError, match="unexpected 'yesterday'"):
        boot_id(proc_root=fake_host.proc)


def test_a_namespace_link_of_another_form_is_an_error(fake_host: FakeHost) -> None:
    fake_host.link("pid", "elsewhere")
    with pytest.raises(OSError, match="unexpected 'elsewhere'"):
        pid_namespace_inode(proc_root=fake_host.proc)


def test_boottime_is_the_kernels_boottime_clock() -> None:
    before = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - boottime_offset_ns()
    seen = boottime_ms()
    after = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - boottime_offset_ns()
    assert before // 1_000_000 <= seen <= after // 1_000_000


def test_boottime_takes_the_namespaces_offset_out() -> None:
    assert BootTime(offset_ns=-2_000_000_000, read_ns=lambda: 1_000_000_000)() == 3_000


def test_a_negative_offset_is_read_as_the_kernel_writes_it(fake_host: FakeHost) -> None:
    fake_host.set_offset_ns(-1_500_000_000)
    assert "boottime -2 500000000" in (fake_host.proc / "self/timens_offsets").read_text()
    assert boottime_offset_ns(proc_root=fake_host.proc) == -1_500_000_000


def test_a_kernel_without_time_namespaces_has_no_offset(fake_host: FakeHost) -> None:
    (fake_host.proc / "self" / "timens_offsets").unlink()
    assert boottime_offset_ns(proc_root=fake_host.proc) == 0


def test_the_offset_of_future_children_is_not_taken_for_ours(fake_host: FakeHost) -> None:
    fake_host.link("time_for_children", "time:[4026532177]")
    with pytest.raises(OSError, match="future children"):
        boottime_offset_ns(proc_root=fake_host.proc)


def test_offsets_of_another_form_are_an_error(fake_host: FakeHost) -> None:
    fake_host.write("proc/self/timens_offsets", "monotonic 0 0\n")
    with pytest.raises(OSError, match="unexpected"):
        boottime_offset_ns(proc_root=fake_host.proc)


@pytest.mark.needs_root
def test_boottime_is_the_same_in_another_time_namespace(
    run_python: RunPython, unshare: Unshare
) -> None:
    wrapper = unshare("--time", "--boottime", "100000", "--fork")
    before = boottime_ms()
    inside = json.loads(run_python(READ_BOOTTIME, wrapper=wrapper))
    assert before <= inside <= boottime_ms()


@pytest.mark.needs_root
def test_a_proc_of_another_pid_namespace_is_refused(
    run_python: RunPython, unshare: Unshare
) -> None:
    code = f"try:\n {READ_HOST}\nexcept OSError as exc:\n print(exc)"
    said = run_python(code, wrapper=unshare("--pid", "--fork"))
    assert "/proc shows another PID namespace" in said
