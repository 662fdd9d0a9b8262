import time

import pytest
from hypothesis import given, strategies as st

from tenure.machine.clock import BootClock

BOOT = "11111111-2222-4333-8444-555555555555"
instants = st.integers(0, 2**43)


def test_time_is_the_anchor_and_what_has_passed_since() -> None:
    clock = BootClock(
        anchor_boot_id=BOOT, anchor_boot_ms=50, anchor_wall_ms=1_000, boottime=lambda: 75
    )
    assert clock.now_ms() == 1_025


@given(instants, instants, st.lists(st.integers(0, 10**9), max_size=20))
def test_time_follows_the_boot_clock_to_the_millisecond(
    boot_ms: int, wall_ms: int, steps: list[int]
) -> None:
    now = [boot_ms]
    clock = BootClock.anchored(boot_id=BOOT, wall_ms=wall_ms, boottime=lambda: now[0])
    for step in steps:
        before = clock.now_ms()
        now[0] += step
        assert clock.now_ms() == before + step
    assert clock.now_ms() == wall_ms + sum(steps)


def test_setting_the_wall_clock_has_no_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = BootClock.anchored(boot_id=BOOT, wall_ms=1_000)
    before = clock.now_ms()
    for jumped in (0.0, 4e9):
        monkeypatch.setattr(time, "time", lambda jumped=jumped: jumped)
        monkeypatch.setattr(time, "time_ns", lambda jumped=jumped: int(jumped * 1e9))
        assert before <= clock.now_ms() < before + 60_000


def test_an_anchor_is_never_before_the_last_instant_written() -> None:
    clock = BootClock.anchored(boot_id=BOOT, wall_ms=5, not_before_ms=9, boottime=lambda: 0)
    assert clock.now_ms() == 9


def test_two_who_share_an_anchor_share_the_time() -> None:
    first = BootClock.anchored(boot_id=BOOT, wall_ms=5, boottime=lambda: 100)
    second = BootClock(
        anchor_boot_id=first.anchor_boot_id,
        anchor_boot_ms=first.anchor_boot_ms,
        anchor_wall_ms=first.anchor_wall_ms,
        boottime=lambda: 100,
    )
    assert first.now_ms() == second.now_ms()
