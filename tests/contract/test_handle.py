"""Several handles on one ledger, and the end of a handle."""

from pathlib import Path

import pytest
from tests.contract.stage import ManualClock, Stage

import tenure


async def test_second_handle_on_one_file_reads_the_same(tmp_path: Path, clock: ManualClock) -> None:
    url = f"sqlite:///{tmp_path / 'shared.sqlite'}"
    async with (
        tenure.open_ledger(url, clock=clock) as one,
        tenure.open_ledger(url, clock=clock) as two,
    ):
        first, second = Stage(one, clock), Stage(two, clock)
        assert one.ledger_id == two.ledger_id
        for steps in ("submitted created begun", "allocated", "answered"):
            await first.play(steps)
            assert await second.rows() == await first.rows()
        second.claim = first.claim
        await second.play("closed superseded")
        assert await first.rows() == await second.rows()


async def test_reopened_file_reads_the_same(tmp_path: Path, clock: ManualClock) -> None:
    url = f"sqlite:///{tmp_path / 'ledger.sqlite'}"
    async with tenure.open_ledger(url, clock=clock) as ledger:
        stage = await Stage(ledger, clock).play("submitted created begun doubted allocated")
        before, ledger_id = await stage.rows(), ledger.ledger_id
    async with tenure.open_ledger(url, clock=clock, create=False) as ledger:
        again = Stage(ledger, clock)
        assert ledger.ledger_id == ledger_id
        assert await again.rows() == before
        again.claim = stage.claim
        await again.play("terminated failed")


async def test_handles_fence_each_other(tmp_path: Path, clock: ManualClock) -> None:
    url = f"sqlite:///{tmp_path / 'shared.sqlite'}"
    async with (
        tenure.open_ledger(url, clock=clock) as one,
        tenure.open_ledger(url, clock=clock) as two,
    ):
        first = await Stage(one, clock).play("created begun")
        await Stage(two, clock).play("taken-over")
        assert (await first.call("record_allocation")).kind == "stale"


async def test_closed_handle_answers_nothing(stage: Stage) -> None:
    await stage.play("created")
    await stage.ledger.aclose()
    await stage.ledger.aclose()
    for operation in ("create_attempt", "commit_outcome", "get_execution", "list_open"):
        with pytest.raises(tenure.LedgerClosedError):
            await stage.call(operation)


async def test_mark_is_the_same_for_every_handle_and_differs_by_attempt(stage: Stage) -> None:
    await stage.play("created begun")
    (work,) = await stage.call("list_open")
    acting = stage.ledger.acting_as("operator-1")
    assert work.mark == stage.ledger.mark_of("a") == acting.mark_of("a")
    assert stage.ledger.mark_of("b") != work.mark
