"""Random walks over a ledger: moves that know no state, and a walker that carries them out.

A move is symbolic: it names an attempt, an operation and which claim is presented by small numbers,
so that one walk can be taken on several stores and its answers compared.
"""

from random import Random
from typing import Any, NamedTuple, cast
from unittest import mock

import anyio
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.contract import values
from tests.contract.stage import ManualClock
from tests.contract.watch import WatchedStore

import tenure
from tenure.kernel.state import Attempt, Execution
from tenure.ledger import group_commit
from tenure.ports.store import Keys, Store

ATTEMPTS = ("a0", "a1", "a2", "a3")
EXECUTIONS = ("e0", "e1")
OWNERS = ("owner-1", "owner-2")
REFS = (values.REF, values.FINER_REF, values.OTHER_REF, values.FOREIGN_REF)
RESULTS = (
    values.RESULT,
    values.OTHER_RESULT,
    tenure.PausedResult(
        execution_id="e", workflow_id="w", paused_at_gate_id="g", paused_at_frame_id="f"
    ),
)
EVIDENCES = (values.EVIDENCE, values.OTHER_EVIDENCE)
SUBMISSIONS = (values.SUBMISSION, replace(values.SUBMISSION, attempts_max=1))
PROOFS = (
    values.PROOF,
    values.PROOF,
    replace(values.PROOF, provisioner_incarnation_id="incarnation-2"),
)
CLOSURES = ("released", "absent", "incarnation-lost")

READS = ("get_", "list_", "read_")
OPERATIONS = tuple(
    name for name in values.ARGUMENTS if not name.removeprefix("recovery.").startswith(READS)
)
_OWNING = (
    "renew_provider_operation_claim",
    "take_over_provider_operation",
    "handoff_provider_operation",
    "record_provider_operation_uncertainty",
    "schedule_look",
    "commit_outcome",
)
FITTING: dict[str, tuple[str, ...]] = {
    "none": ("create_attempt", "ensure_attempt", "submit_execution"),
    "pending": (*["begin_provisioning"] * 8, "abandon_pending_attempt", "commit_outcome"),
    "provisioning": (
        *_OWNING,
        *["record_allocation"] * 6,
        *["recovery.record_discovered_allocation"] * 2,
        "record_provisioning_absent",
        "record_provisioner_incarnation_lost",
    ),
    "allocated": (
        *_OWNING,
        "record_allocation",
        *["recovery.evolve_allocation_ref"] * 2,
        *["record_allocation_terminated"] * 2,
        *["record_infrastructure_failure"] * 2,
    ),
    "reclaimed": (
        "schedule_look",
        *(name for name in values.ARGUMENTS if "reclamation" in name and "get_" not in name),
    ),
    "settled": (
        "create_attempt",
        "ensure_attempt",
        "record_convergence",
        "request_cancellation",
        "commit_outcome",
    ),
}
"""What gets an attempt on from where it is."""


class Move(NamedTuple):
    """One call, by small numbers."""

    operation: int
    """Picks among all operations, or among those that fit."""
    fits: bool
    """Whether the operation is one that gets the attempt on."""
    attempt: int
    astray: bool
    """Whether the call names another execution than the attempt's own."""
    claim: int
    """0-3: the attempt's newest claim, 4: its first one, 5: one that was never issued."""
    variant: int
    """Picks among references, evidence, results, owners and instants."""
    elapsed_ms: int
    """How much time passes before the call."""
    together: bool
    """Whether the call is made together with the one before it."""


MOVES = st.builds(
    Move,
    operation=st.integers(0, 10_000),
    fits=st.sampled_from([True, True, True, False]),
    attempt=st.integers(0, len(ATTEMPTS) - 1),
    astray=st.sampled_from([False] * 9 + [True]),
    claim=st.integers(0, 5),
    variant=st.integers(0, 11),
    elapsed_ms=st.sampled_from([0, 0, 1, 7_000, 20_000]),
    together=st.booleans(),
)


def draw_moves(rng: Random, count: int) -> list[Move]:
    """Draw moves without hypothesis, which prefers small numbers and so walks less far."""
    return [
        Move(
            operation=rng.randrange(10_000),
            fits=rng.random() < 0.8,
            attempt=rng.randrange(len(ATTEMPTS)),
            astray=rng.random() < 0.05,
            claim=rng.choice((0, 0, 0, 0, 0, 0, 4, 5)),
            variant=rng.randrange(12),
            elapsed_ms=rng.choice((0, 0, 1, 7_000, 20_000)),
            together=rng.random() < 0.4,
        )
        for _ in range(count)
    ]


class Walker:
    """Takes moves on one ledger and remembers what came of them, tokens told by their order."""

    def __init__(self, ledger: tenure.Ledger, clock: ManualClock) -> None:
        self.watched = WatchedStore(ledger._core.store)
        self.ledger = tenure.Ledger(cast("Store", self.watched))
        self.clock = clock
        self.claims: list[tenure.ProviderOperationClaim] = []
        self.answers: list[object] = []

    async def take(self, moves: list[Move]) -> None:
        """Take the moves, those that belong together at once."""
        with mock.patch.object(group_commit, "step", self.watched.step):
            for index, move in enumerate(moves):
                if index and move.together:
                    continue
                batch = [move]
                for later in moves[index + 1 :]:
                    if not later.together:
                        break
                    batch.append(later)
                await self._take_together(batch)

    async def rows(self) -> tuple[dict[str, object], dict[str, Execution]]:
        """Read every row, tokens told by their order and without what only this ledger has."""
        keys = Keys(attempts=frozenset(ATTEMPTS), executions=frozenset(EXECUTIONS))
        rows = await self.watched.inner.load(keys)
        attempts = {id_: self._plain_row(row) for id_, row in sorted(rows.attempts.items())}
        return attempts, dict(sorted(rows.executions.items()))

    async def owed(self) -> tuple[list[str], list[str]]:
        """List what the ledger says is open, and what its rows say."""
        rows = await self.watched.inner.load(Keys(attempts=frozenset(ATTEMPTS)))
        listed = [work.execution_attempt_id for work in await self.ledger.list_open()]
        return sorted(listed), sorted(id_ for id_, row in rows.attempts.items() if _is_open(row))

    async def journal(self) -> list[tuple[object, ...]]:
        """Read what the journal says, without sequences and marks."""
        entries = await self.ledger.read_journal(limit=1000)
        return [
            (
                entry.event,
                entry.at,
                entry.execution_attempt_id,
                entry.actor,
                entry.generation,
                {name: value for name, value in entry.detail.items() if name != "mark"},
                entry.count,
            )
            for entry in entries
        ]

    async def _take_together(self, batch: list[Move]) -> None:
        self.clock.advance(batch[0].elapsed_ms)
        answers: list[object] = [None] * len(batch)
        rows = await self.watched.inner.load(Keys(attempts=frozenset(ATTEMPTS)))
        calls = []
        for index, move in enumerate(batch):
            operation = _operation(move, rows.attempts.get(ATTEMPTS[move.attempt]))
            calls.append((index, operation, self._arguments(move, operation)))

        async def call(index: int, operation: str, arguments: dict[str, Any]) -> None:
            answers[index] = await self._call(operation, arguments)

        async with anyio.create_task_group() as group:
            for arguments in calls:
                group.start_soon(call, *arguments)
        self.answers += [self._plain(answer) for answer in answers]

    async def _call(self, operation: str, arguments: dict[str, Any]) -> object:
        target: Any = self.ledger
        for name in operation.split("."):
            target = getattr(target, name)
        try:
            return await target(**arguments)
        except tenure.CallerError as error:
            return type(error)

    def _arguments(self, move: Move, operation: str) -> dict[str, Any]:
        attempt_id = ATTEMPTS[move.attempt]
        execution_id = EXECUTIONS[(move.attempt + move.astray) % 2]
        now = values.at(self.clock.ms - values.START_MS)
        lease = values.at(self.clock.ms - values.START_MS + 5_000 * (move.variant % 4))
        choices = {
            "execution_attempt_id": attempt_id,
            "execution_id": execution_id,
            "claim": self._claim(attempt_id, move.claim),
            "owner_id": OWNERS[move.variant % 2],
            "lease_expires_at": lease,
            "observed_at": now,
            "next_look_at": lease,
            "evidence": EVIDENCES[move.variant % 2],
            "allocation_ref": REFS[move.variant % 4 if move.variant > 6 else 0],
            "current_ref": REFS[move.variant % 3],
            "next_ref": REFS[move.variant // 3 % 3],
            "result": RESULTS[move.variant % 3],
            "submission": SUBMISSIONS[move.variant % 2],
            "proof": PROOFS[move.variant // 2 % 3],
            "closure": CLOSURES[move.variant % 3],
            "allocation_lifetime": tenure.ALLOCATION_LIFETIMES[move.variant % 2],
        }
        names = values.ARGUMENTS[operation]
        arguments = {**names, **{name: choices[name] for name in names if name in choices}}
        if operation == "ensure_attempt":
            arguments["replaces"] = [None, *ATTEMPTS][move.variant % 5]
            arguments["supersede"] = move.variant % 2 == 0
        return arguments

    def _claim(self, attempt_id: str, choice: int) -> tenure.ProviderOperationClaim:
        issued = [claim for claim in self.claims if claim.execution_attempt_id == attempt_id]
        if not issued or choice == 5:
            return values.claim_for(attempt_id)
        return issued[0] if choice == 4 else issued[-1]

    def _plain(self, answer: object) -> object:
        if isinstance(answer, tenure.Started | tenure.Claimed):
            self.claims.append(answer.claim)
            claim = replace(answer.claim, token=self._token_name(answer.claim.token))
            return replace(answer, claim=claim)
        return answer

    def _plain_row(self, row: Attempt) -> object:
        operation, reclamation = row.operation, row.reclamation
        if operation is not None:
            operation = replace(operation, token=self._token_name(operation.token))
        if reclamation is not None:
            reclamation = replace(reclamation, token=self._token_name(reclamation.token))
        return replace(row, operation=operation, reclamation=reclamation, mark=None)

    def _token_name(self, token: str | None) -> str:
        tokens = list(dict.fromkeys(claim.token for claim in self.claims))
        return "none" if token is None else f"token {tokens.index(token)}"


def _operation(move: Move, row: Attempt | None) -> str:
    likely = OPERATIONS
    if move.fits:
        likely = FITTING["none" if row is None else row.status]
        if row is not None and _is_open(row) and row.status == "settled":
            likely = FITTING["reclaimed"]
    return likely[move.operation % len(likely)]


def _is_open(row: Attempt) -> bool:
    if row.status != "settled":
        return row.operation is not None
    return row.reclamation is not None and row.reclamation.closure is None
