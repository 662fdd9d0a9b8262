"""Where two answers apply, the earlier of the operation's list is given: each pair of neighbours.

What a claim is worth comes first everywhere and has its own tests in ``test_authorization``.
"""

from typing import NamedTuple

import pytest
from msgspec.structs import replace
from tests.contract import hooks
from tests.contract.stage import Stage
from tests.contract.values import ARGUMENTS, FOREIGN_REF, OTHER_REF, PROOF, Loose

import tenure

OTHER_PROOF = tenure.ProcessBoundProvisionerLossProof(
    provisioner_incarnation_id="incarnation-2", evidence=PROOF.evidence
)


class Pair(NamedTuple):
    """After these steps both answers apply to the call, and the first one is given."""

    operation: str
    earlier: str
    later: str
    steps: str
    changed: Loose


NEXT = {"execution_attempt_id": "c"}
RIVAL = {"execution_id": "other"}
PAIRS = [
    Pair("begin_provisioning", "not-found", "fenced", "created superseded", RIVAL),
    Pair("begin_provisioning", "fenced", "resolved", "created answered superseded", {}),
    Pair("begin_provisioning", "fenced", "allocated", "created begun allocated superseded", {}),
    Pair("begin_provisioning", "resolved", "allocated", "created begun allocated answered", {}),
    Pair("begin_provisioning", "allocated", "already-provisioning", "created begun allocated", {}),
    Pair("begin_provisioning", "already-provisioning", "started", "created begun", {}),
    Pair(
        "take_over_provider_operation",
        "resolved",
        "claimed",
        "created begun handed-off answered",
        {},
    ),
    Pair(
        "take_over_provider_operation", "stale", "claimed", "created begun renewed superseded", {}
    ),
    Pair(
        "record_allocation",
        "conflict",
        "recorded",
        "created begun allocated",
        {"allocation_ref": OTHER_REF},
    ),
    Pair("record_allocation", "duplicate", "recorded", "created begun allocated", {}),
    Pair("record_provisioning_absent", "not-found", "allocated", "created begun allocated", RIVAL),
    Pair("record_provisioning_absent", "allocated", "recorded", "created begun allocated", {}),
    Pair(
        "record_provisioner_incarnation_lost",
        "not-found",
        "not-process-bound",
        "created begun",
        RIVAL,
    ),
    Pair(
        "record_provisioner_incarnation_lost",
        "not-process-bound",
        "incarnation-mismatch",
        "created begun",
        {"proof": OTHER_PROOF},
    ),
    Pair(
        "record_provisioner_incarnation_lost",
        "not-process-bound",
        "allocated",
        "created begun allocated",
        {},
    ),
    Pair(
        "record_provisioner_incarnation_lost",
        "incarnation-mismatch",
        "allocated",
        "created begun-process-bound allocated",
        {"proof": OTHER_PROOF},
    ),
    Pair(
        "record_provisioner_incarnation_lost",
        "allocated",
        "recorded",
        "created begun-process-bound allocated",
        {},
    ),
    Pair("record_infrastructure_failure", "not-found", "not-allocated", "created begun", RIVAL),
    Pair("record_infrastructure_failure", "not-allocated", "not-terminated", "created begun", {}),
    Pair(
        "record_infrastructure_failure",
        "not-terminated",
        "recorded",
        "created begun allocated",
        {},
    ),
    Pair(
        "commit_outcome",
        "fenced",
        "duplicate",
        "created answered superseded",
        {},
    ),
    Pair("commit_outcome", "fenced", "conflict", "created abandoned superseded", {}),
    Pair("commit_outcome", "fenced", "accepted", "created superseded", {}),
    Pair("commit_outcome", "fenced", "duplicate", "created answered", RIVAL),
    Pair(
        "abandon_pending_attempt", "fenced", "allocated", "created begun allocated superseded", {}
    ),
    Pair(
        "abandon_pending_attempt", "fenced", "already-abandoned", "created abandoned superseded", {}
    ),
    Pair("abandon_pending_attempt", "fenced", "abandoned", "created superseded", {}),
    Pair("abandon_pending_attempt", "fenced", "abandoned", "created", RIVAL),
    Pair(
        "recovery.record_discovered_allocation",
        "duplicate",
        "recorded",
        "created begun allocated",
        {},
    ),
    Pair("recovery.evolve_allocation_ref", "not-found", "not-allocated", "created begun", RIVAL),
    Pair(
        "recovery.evolve_allocation_ref",
        "not-found",
        "stale",
        "created begun allocated evolved",
        RIVAL,
    ),
    Pair(
        "recovery.evolve_allocation_ref",
        "not-allocated",
        "stale",
        "created begun",
        {"current_ref": OTHER_REF},
    ),
    Pair(
        "recovery.evolve_allocation_ref",
        "stale",
        "evolved",
        "created begun allocated",
        {"current_ref": OTHER_REF},
    ),
    Pair("submit_execution", "duplicate", "submitted", "submitted cancelled", {}),
    Pair("ensure_attempt", "existing", "concluded", "submitted created answered", {}),
    Pair("ensure_attempt", "existing", "cancelled", "submitted created cancelled", {}),
    Pair(
        "ensure_attempt",
        "concluded",
        "cancelled",
        "submitted created cancelled answered",
        {**NEXT, "replaces": "a"},
    ),
    Pair("ensure_attempt", "concluded", "occupied", "submitted created answered", NEXT),
    Pair("ensure_attempt", "cancelled", "occupied", "submitted created cancelled", NEXT),
    Pair("request_cancellation", "not-found", "requested", "created", {}),
    Pair(
        "request_cancellation",
        "concluded",
        "already-requested",
        "submitted created cancelled answered",
        {},
    ),
    Pair("record_convergence", "not-found", "not-concluded", "created", {}),
    Pair(
        "record_convergence",
        "already-converged",
        "recorded",
        "submitted created answered converged",
        {},
    ),
    Pair("take_over_reclamation", "resolved", "claimed", "created begun answered closed", {}),
    Pair("take_over_reclamation", "stale", "claimed", "created begun renewed answered", {}),
]
FENCED_BY_PROVIDER = ("record_allocation", "recovery.record_discovered_allocation")


@pytest.mark.parametrize(
    "pair", PAIRS, ids=lambda pair: f"{pair.operation}-{pair.earlier}-{pair.later}-{pair.steps}"
)
async def test_earlier_answer_is_given(stage: Stage, pair: Pair) -> None:
    await stage.play(pair.steps)
    answer = await stage.call(pair.operation, **pair.changed)
    assert answer.kind == pair.earlier


@pytest.mark.parametrize("operation", FENCED_BY_PROVIDER)
@pytest.mark.parametrize(
    "steps",
    [
        "created begun",
        "created begun handed-off",
        "created begun taken-over",
        "created begun absent",
        "created begun allocated",
        "created begun allocated answered",
        "created begun superseded",
    ],
)
async def test_foreign_provider_raises_whatever_the_claim_is_worth(
    stage: Stage, operation: str, steps: str
) -> None:
    await stage.play(steps)
    before = await stage.rows()
    for claim in (stage.claim, replace(stage.claim, token="guessed")):
        with pytest.raises(tenure.ForeignProviderError) as caught:
            await stage.call(operation, claim=claim, allocation_ref=FOREIGN_REF)
        assert caught.value.provider_id == "rival"
        assert caught.value.expected_provider_id == "cloud"
    assert await stage.rows() == before


@pytest.mark.parametrize("operation", FENCED_BY_PROVIDER)
@pytest.mark.parametrize("steps", ["", "created", "created abandoned"])
async def test_no_provider_is_foreign_before_begin(
    stage: Stage, operation: str, steps: str
) -> None:
    await stage.play(steps)
    answer = await stage.call(operation, allocation_ref=FOREIGN_REF)
    assert answer == tenure.NotFound()


@pytest.mark.parametrize("steps", ["", "created begun taken-over", "created begun answered"])
@pytest.mark.parametrize(
    "operation", ["recovery.evolve_allocation_ref", "evolve_reclamation_reference"]
)
async def test_evolution_to_another_provider_raises_before_anything_is_read(
    stage: Stage, operation: str, steps: str
) -> None:
    await stage.play(steps)
    for pair in ({"next_ref": FOREIGN_REF}, {"current_ref": FOREIGN_REF}):
        with pytest.raises(tenure.ForeignProviderError):
            await stage.call(operation, **pair)


async def test_foreign_reference_of_a_reclamation_raises_whatever_the_claim_is_worth(
    stage: Stage,
) -> None:
    await stage.play("created begun answered reclamation-taken-over")
    with pytest.raises(tenure.ForeignProviderError):
        await stage.call("record_reclamation_reference", allocation_ref=FOREIGN_REF)


@pytest.mark.parametrize("steps", ["", "submitted", "submitted created", "created abandoned"])
async def test_used_attempt_id_raises_and_changes_nothing(stage: Stage, steps: str) -> None:
    await stage.play("created-elsewhere")
    await stage.play(steps)
    before = await stage.rows()
    for execution_id in ("e", "other", "third"):
        with pytest.raises(tenure.DuplicateExecutionAttemptError) as caught:
            await stage.call(
                "create_attempt", execution_attempt_id="elsewhere", execution_id=execution_id
            )
        assert caught.value.execution_attempt_id == "elsewhere"
    with pytest.raises(tenure.DuplicateExecutionAttemptError):
        await stage.call("ensure_attempt", execution_attempt_id="elsewhere")
    assert await stage.rows() == before


async def test_attempt_of_another_execution_raises_before_a_conclusion_is_told(
    stage: Stage,
) -> None:
    await stage.play("created-elsewhere submitted created answered")
    with pytest.raises(tenure.DuplicateExecutionAttemptError):
        await stage.call("ensure_attempt", execution_attempt_id="elsewhere")


async def test_used_id_of_a_settled_attempt_keeps_its_row(stage: Stage) -> None:
    await stage.play("created begun allocated answered")
    before = await hooks.read_attempt(stage.ledger, "a")
    with pytest.raises(tenure.DuplicateExecutionAttemptError):
        await stage.call("create_attempt")
    assert await hooks.read_attempt(stage.ledger, "a") == before


def test_every_operation_with_a_choice_has_a_pair() -> None:
    settled_by_authorization = {
        "renew_provider_operation_claim",
        "handoff_provider_operation",
        "record_provider_operation_uncertainty",
        "record_allocation_terminated",
        "schedule_look",
    }
    deciding = {
        name
        for name in ARGUMENTS
        if not name.removeprefix("recovery.").startswith(("get_", "list_", "read_"))
        and "reclamation" not in name
        and name != "create_attempt"
    }
    assert deciding - settled_by_authorization == {
        pair.operation for pair in PAIRS if "reclamation" not in pair.operation
    }
