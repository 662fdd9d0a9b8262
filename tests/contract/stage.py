"""A stage: one ledger with its clock, brought into a named state by steps of the public API."""

from collections.abc import Awaitable, Callable
from typing import Any

from tests.contract import values
from tests.contract.values import ARGUMENTS, Loose

import tenure
from tenure.model.instant import InstantMs


class ManualClock:
    """Time that moves when a test says so."""

    def __init__(self, start_ms: int = values.START_MS) -> None:
        self.ms = start_ms

    def now_ms(self) -> InstantMs:
        """Read the time in milliseconds."""
        return InstantMs(self.ms)

    def advance(self, ms: int) -> None:
        """Let time pass."""
        self.ms += ms


class Stage:
    """A ledger, and the claim that the steps so far have given out first for attempt ``a``."""

    def __init__(self, ledger: tenure.Ledger, clock: ManualClock) -> None:
        self.ledger = ledger
        self.clock = clock
        self.claim = values.claim_for()

    async def call(self, operation: str, /, **changed: Loose) -> Loose:
        """Call an operation with valid arguments, but for those that are changed."""
        arguments = {**ARGUMENTS[operation], **changed}
        if arguments.get("claim", self) is None:
            arguments["claim"] = self.claim
        target: Any = self.ledger
        for name in operation.split("."):
            target = getattr(target, name)
        return await target(**arguments)

    async def play(self, steps: str) -> "Stage":
        """Take these steps, separated by blanks, each of which has to succeed."""
        for name in steps.split():
            answer = await STEPS[name](self)
            kind = getattr(answer, "kind", None)
            assert kind in _SUCCESSES, f"{name}: {answer}"
        return self

    async def rows(self) -> tuple[Any, ...]:
        """Read everything that the ledger tells about attempt ``a`` and execution ``e``."""
        return (
            await self.call("recovery.get_attempt_with_allocation"),
            await self.call("get_provider_operation"),
            await self.call("get_reclamation"),
            await self.call("get_settlement"),
            await self.call("get_execution"),
            await self.call("get_active_attempt"),
            await self.call("list_open"),
            await self.call("read_journal"),
        )


_SUCCESSES = frozenset(
    {None, "started", "recorded", "accepted", "abandoned", "claimed", "evolved", "submitted"}
    | {"requested"}
)
Step = Callable[[Stage], Awaitable[Any]]


def _plain(operation: str, **changed: Loose) -> Step:
    async def take(stage: Stage) -> Loose:
        return await stage.call(operation, **changed)

    return take


def _begin(lifetime: str) -> Step:
    async def take(stage: Stage) -> Loose:
        answer = await stage.call("begin_provisioning", allocation_lifetime=lifetime)
        stage.claim = answer.claim
        return answer

    return take


STEPS: dict[str, Step] = {
    "submitted": _plain("submit_execution"),
    "submitted-once": _plain(
        "submit_execution",
        submission=tenure.ExecutionSubmission(
            workflow_id="w", instruction={}, provider_ids=("cloud",)
        ),
    ),
    "cancelled": _plain("request_cancellation"),
    "converged": _plain("record_convergence"),
    "created": _plain("create_attempt"),
    "created-elsewhere": _plain(
        "create_attempt", execution_attempt_id="elsewhere", execution_id="other"
    ),
    "superseded": _plain("create_attempt", execution_attempt_id="b"),
    "begun": _begin("provider-managed"),
    "begun-process-bound": _begin("provisioner-process-bound"),
    "allocated": _plain("record_allocation"),
    "discovered": _plain("recovery.record_discovered_allocation"),
    "evolved": _plain("recovery.evolve_allocation_ref"),
    "doubted": _plain("record_provider_operation_uncertainty"),
    "terminated": _plain("record_allocation_terminated"),
    "failed": _plain("record_infrastructure_failure"),
    "absent": _plain("record_provisioning_absent"),
    "lost": _plain("record_provisioner_incarnation_lost"),
    "answered": _plain("commit_outcome"),
    "abandoned": _plain("abandon_pending_attempt"),
    "taken-over": _plain("take_over_provider_operation"),
    "handed-off": _plain("handoff_provider_operation"),
    "renewed": _plain("renew_provider_operation_claim"),
    "reclamation-taken-over": _plain("take_over_reclamation"),
    "reclamation-handed-off": _plain("handoff_reclamation"),
    "closed": _plain("close_reclamation"),
}
