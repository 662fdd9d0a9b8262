"""A machine with a real ledger on its disk, where attempts are made as an authority makes them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import anyio
from tests.providers.conftest import Started, World

from tenure.ledger.ledger import Ledger
from tenure.model.execution import ExecutionSubmission, SettlementRecord
from tenure.ports.provider import Allocated, ProvisionRequest


def ledger_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'state' / 'ledger.sqlite'}"


@dataclass
class Site:
    """A machine with a ledger on its disk."""

    world: World
    ledger: Ledger

    async def start(self, name: str, command: Sequence[str]) -> Started:
        provider = self.world.provider
        submission = ExecutionSubmission(
            workflow_id="workflow",
            instruction={"command": list(command), "cwd": "/"},
            provider_ids=(provider.provider_id,),
        )
        await self.ledger.submit_execution(
            execution_id=name, submission=submission, submitted_by="test"
        )
        await self.ledger.ensure_attempt(execution_id=name, execution_attempt_id=f"{name}-1")
        now = await self.ledger.now()
        await self.ledger.begin_provisioning(
            execution_attempt_id=f"{name}-1",
            execution_id=name,
            provider_id=provider.provider_id,
            allocation_lifetime=provider.traits.allocation_lifetime,
            provisioner_incarnation_id="test",
            owner_id="test",
            lease_expires_at=now + timedelta(seconds=60),
        )
        mark = self.ledger.mark_of(f"{name}-1")
        self.world.marks.append(mark)
        request = ProvisionRequest(
            execution_id=name,
            execution_attempt_id=f"{name}-1",
            workflow_id="workflow",
            instruction=submission.instruction,
            mark=mark,
            ledger_url=self.ledger.url,
            begun_at=now,
            call_deadline_at=now + timedelta(seconds=30),
            deadline_at=None,
        )
        answer = await provider.provision(request)
        assert isinstance(answer, Allocated)
        return Started(mark, answer.allocation_ref)

    async def until_settled(self, name: str) -> SettlementRecord:
        with anyio.fail_after(60):
            while True:
                found = await self.ledger.get_settlement(execution_attempt_id=f"{name}-1")
                if found is not None:
                    return found
                await anyio.sleep(0.02)
