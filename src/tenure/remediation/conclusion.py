"""Writing a conclusion: one action of the plan becomes one call of the ledger."""

from collections.abc import Mapping
from typing import Final

from tenure.ledger.ledger import Ledger
from tenure.model.allocation import ProcessBoundProvisionerLossProof
from tenure.model.decision import Decision
from tenure.model.open_work import ReclamationClosure
from tenure.remediation.holding import Holding
from tenure.remediation.observation import Sight
from tenure.remediation.plan import Action

_CLOSURES: Final[Mapping[Action, ReclamationClosure]] = {
    "close-absent": "absent",
    "close-lost": "incarnation-lost",
    "close-released": "released",
}


async def write_conclusion(  # noqa: PLR0911 - a line for each action
    ledger: Ledger, holding: Holding, action: Action, sight: Sight
) -> Decision:
    """Write one conclusion of the plan under the claim that is held.

    Raises:
        InvalidInputError: the provider's reference or evidence breaks the contract.
    """
    work = holding.work
    claim, evidence, found = holding.claim, sight.evidence, sight.found
    if action == "record-failure":
        return await ledger.record_infrastructure_failure(
            claim=claim, execution_id=work.execution_id
        )
    if found is not None:
        if action == "record-reference":
            return await holding.record_reference(found)
        return await ledger.recovery.record_discovered_allocation(claim=claim, allocation_ref=found)
    assert evidence is not None
    match action:
        case "record-absent":
            return await ledger.record_provisioning_absent(
                claim=claim, execution_id=work.execution_id, evidence=evidence
            )
        case "record-lost":
            proof = ProcessBoundProvisionerLossProof(
                provisioner_incarnation_id=work.provisioner_incarnation_id, evidence=evidence
            )
            return await ledger.record_provisioner_incarnation_lost(
                claim=claim, execution_id=work.execution_id, proof=proof
            )
        case "record-terminated":
            return await ledger.record_allocation_terminated(claim=claim, evidence=evidence)
        case _:
            closure = _CLOSURES[action]
            return await ledger.close_reclamation(claim=claim, closure=closure, evidence=evidence)
