"""The state machine: ``step`` decides one command on the rows that it may look at.

Rule 1: every transition of an attempt, an operation, a reclamation or an execution is decided here
and nowhere else; stores only load and save. Rule 2: nothing here waits, reads a clock, draws a
number or logs; time and chance arrive as arguments. Rule 3: ``step`` is total. What a rival can
cause is answered with a decision; it raises only for a caller's bug that the ledger's rows reveal
(a used attempt id, a foreign provider) and for a corrupt row, and then nothing has changed.
"""

from typing import TypeAlias, assert_never

from tenure.kernel import (
    allocation,
    creation,
    execution,
    ownership,
    provisioning,
    reclamation,
    settlement,
)
from tenure.kernel.state import State, Verdict
from tenure.model import command as commands
from tenure.model.attempt import ExecutionAttemptRecord
from tenure.model.decision import Decision
from tenure.model.instant import InstantMs

CreationCommand: TypeAlias = commands.CreateAttempt | commands.EnsureAttempt
ProvisioningCommand: TypeAlias = commands.BeginProvisioning | commands.AbandonPendingAttempt
OwnershipCommand: TypeAlias = (
    commands.RenewClaim
    | commands.TakeOverOperation
    | commands.HandOffOperation
    | commands.RecordUncertainty
    | commands.ScheduleLook
)
AllocationCommand: TypeAlias = (
    commands.RecordAllocation
    | commands.RecordDiscoveredAllocation
    | commands.RecordAllocationTerminated
    | commands.EvolveAllocationRef
)
SettlementCommand: TypeAlias = (
    commands.CommitOutcome
    | commands.RecordProvisioningAbsent
    | commands.RecordProvisionerIncarnationLost
    | commands.RecordInfrastructureFailure
)
ReclamationCommand: TypeAlias = (
    commands.TakeOverReclamation
    | commands.RenewReclamationClaim
    | commands.HandOffReclamation
    | commands.RecordReclamationUncertainty
    | commands.RecordReclamationReference
    | commands.EvolveReclamationReference
    | commands.CloseReclamation
)
ExecutionCommand: TypeAlias = (
    commands.SubmitExecution | commands.RequestCancellation | commands.RecordConvergence
)
AnyCommand: TypeAlias = (
    CreationCommand
    | ProvisioningCommand
    | OwnershipCommand
    | AllocationCommand
    | SettlementCommand
    | ReclamationCommand
    | ExecutionCommand
)
Answer: TypeAlias = Decision | ExecutionAttemptRecord


def step(  # noqa: C901, PLR0911, PLR0912 - the one dispatch: flat, a line for each command
    state: State, command: AnyCommand, now: InstantMs, fresh_token: str
) -> Verdict[Answer]:
    """Decide one command.

    Args:
        state: the rows that the command may look at, as of the transaction that will write.
        command: checked and encoded input.
        now: the store's clock in this transaction.
        fresh_token: a token that was never used; becomes the new claim's secret where one is made.

    Returns:
        The decision with every row and journal entry that it changes.

    Raises:
        DuplicateExecutionAttemptError: the attempt id to be created exists.
        ForeignProviderError: a reference names another provider than the attempt's.
        CorruptRecordError: a row that the decision depends on does not satisfy the contract.
    """
    match command:
        case commands.CreateAttempt():
            return creation.create_attempt(state, command, now)
        case commands.EnsureAttempt():
            return creation.ensure_attempt(state, command, now)
        case commands.BeginProvisioning():
            return provisioning.begin_provisioning(state, command, now, fresh_token)
        case commands.AbandonPendingAttempt():
            return provisioning.abandon_pending_attempt(state, command, now)
        case commands.RenewClaim():
            return ownership.renew_claim(state, command)
        case commands.TakeOverOperation():
            return ownership.take_over_operation(state, command, fresh_token)
        case commands.HandOffOperation():
            return ownership.hand_off_operation(state, command)
        case commands.RecordUncertainty():
            return ownership.record_uncertainty(state, command)
        case commands.ScheduleLook():
            return ownership.schedule_look(state, command)
        case commands.RecordAllocation():
            return allocation.record_allocation(state, command)
        case commands.RecordDiscoveredAllocation():
            return allocation.record_discovered_allocation(state, command)
        case commands.RecordAllocationTerminated():
            return allocation.record_allocation_terminated(state, command)
        case commands.EvolveAllocationRef():
            return allocation.evolve_allocation_ref(state, command)
        case commands.CommitOutcome():
            return settlement.commit_outcome(state, command, now)
        case commands.RecordProvisioningAbsent():
            return settlement.record_provisioning_absent(state, command, now)
        case commands.RecordProvisionerIncarnationLost():
            return settlement.record_provisioner_incarnation_lost(state, command, now)
        case commands.RecordInfrastructureFailure():
            return settlement.record_infrastructure_failure(state, command, now)
        case commands.SubmitExecution():
            return execution.submit_execution(state, command, now)
        case commands.RequestCancellation():
            return execution.request_cancellation(state, command, now)
        case commands.RecordConvergence():
            return execution.record_convergence(state, command, now)
        case _:
            return _step_reclamation(state, command, now, fresh_token)


def _step_reclamation(  # noqa: PLR0911 - the rest of the dispatch
    state: State, command: ReclamationCommand, now: InstantMs, fresh_token: str
) -> Verdict[Answer]:
    match command:
        case commands.TakeOverReclamation():
            return reclamation.take_over_reclamation(state, command, fresh_token)
        case commands.RenewReclamationClaim():
            return reclamation.renew_reclamation_claim(state, command)
        case commands.HandOffReclamation():
            return reclamation.hand_off_reclamation(state, command)
        case commands.RecordReclamationUncertainty():
            return reclamation.record_reclamation_uncertainty(state, command)
        case commands.RecordReclamationReference():
            return reclamation.record_reclamation_reference(state, command)
        case commands.EvolveReclamationReference():
            return reclamation.evolve_reclamation_reference(state, command)
        case commands.CloseReclamation():
            return reclamation.close_reclamation(state, command, now)
        case _:
            assert_never(command)
