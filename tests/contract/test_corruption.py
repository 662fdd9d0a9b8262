"""Stored text that breaks the contract is reported as corrupt, and never becomes a decision."""

import pytest
from tests.contract import hooks
from tests.contract.stage import Stage
from tests.contract.values import Loose

import tenure

BROKEN = {
    "no JSON": "{broken",
    "nothing": "",
    "another type": "[]",
    "an unknown member": '{"version":1,"providerId":"cloud","providerData":{},"more":1}',
    "a member twice": '{"version":1,"providerId":"cloud","providerId":"cloud","providerData":{}}',
    "another version": '{"version":2,"providerId":"cloud","providerData":{}}',
    "not a number": '{"version":1,"providerId":"cloud","providerData":{"n":NaN}}',
    "too deep": '{"version":1,"providerId":"cloud","providerData":'
    + '{"d":' * 5000
    + "1"
    + "}" * 5001,
}
READING_REF = [
    "begin_provisioning",
    "record_allocation",
    "record_provisioning_absent",
    "recovery.record_discovered_allocation",
    "recovery.evolve_allocation_ref",
    "recovery.get_attempt_with_allocation",
    "recovery.get_recoverable_attempts",
    "get_active_attempt",
]


async def is_corrupt(stage: Stage, operation: str, **changed: Loose) -> None:
    """See that a call reports corruption and writes nothing."""
    journal = await stage.call("read_journal")
    row = await hooks.read_attempt(stage.ledger, "a")
    with pytest.raises(tenure.CorruptRecordError) as caught:
        await stage.call(operation, **changed)
    assert "a" in caught.value.record
    assert await stage.call("read_journal") == journal
    assert await hooks.read_attempt(stage.ledger, "a") == row


async def is_listed_as_unreadable(stage: Stage) -> None:
    """See that the owed list names what it cannot read."""
    (work,) = await stage.call("list_open")
    assert isinstance(work, tenure.UnreadableWork)
    assert (work.execution_attempt_id, work.execution_id) == ("a", "e")
    assert work.seen


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
async def test_broken_reference_is_corrupt_wherever_it_is_read(stage: Stage, text: str) -> None:
    await stage.play("created begun allocated")
    await hooks.rewrite_attempt(stage.ledger, "a", allocation_ref=text)
    for operation in READING_REF:
        await is_corrupt(stage, operation)
    await is_listed_as_unreadable(stage)


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
async def test_broken_result_is_corrupt_and_never_a_conflict(stage: Stage, text: str) -> None:
    await stage.play("created answered")
    await hooks.rewrite_attempt(stage.ledger, "a", result=text)
    for operation in ("commit_outcome", "get_settlement"):
        await is_corrupt(stage, operation)


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
async def test_broken_evidence_is_corrupt_when_it_is_read(stage: Stage, text: str) -> None:
    await stage.play("created begun doubted")
    await hooks.rewrite_operation(stage.ledger, "a", last_failure=text)
    await is_corrupt(stage, "get_provider_operation")
    await is_listed_as_unreadable(stage)
    await stage.play("doubted")
    assert (await stage.call("get_provider_operation")).failure_count == 2


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
async def test_broken_reference_of_a_reclamation_is_corrupt(stage: Stage, text: str) -> None:
    await stage.play("created begun allocated answered")
    await hooks.rewrite_reclamation(stage.ledger, "a", references=(text,))
    for operation in (
        "get_reclamation",
        "record_reclamation_reference",
        "evolve_reclamation_reference",
    ):
        await is_corrupt(stage, operation)
    await is_listed_as_unreadable(stage)


@pytest.mark.parametrize(
    "column", ["provider_id", "allocation_lifetime", "provisioner_incarnation_id"]
)
async def test_recoverable_attempt_that_lost_its_binding_is_corrupt(
    stage: Stage, column: str
) -> None:
    await stage.play("created begun allocated")
    await hooks.rewrite_attempt(stage.ledger, "a", **{column: None})
    await is_corrupt(stage, "recovery.get_recoverable_attempts")
    await is_listed_as_unreadable(stage)


async def test_corrupt_attempt_harms_no_other(stage: Stage) -> None:
    await stage.play("created begun allocated created-elsewhere")
    await hooks.rewrite_attempt(stage.ledger, "a", allocation_ref="{")
    started = await stage.call(
        "begin_provisioning", execution_attempt_id="elsewhere", execution_id="other"
    )
    assert started.kind == "started"
