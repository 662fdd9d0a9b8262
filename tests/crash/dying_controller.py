"""A controller that kills itself with SIGKILL at a chosen point around its one provider call.

Run as ``python dying_controller.py LEDGER_URL EXECUTION POINT PROVIDER COMMAND...``, with
``TENURE_STATE_DIR`` set. ``POINT`` is one of ``submitted`` (no attempt yet), ``begun`` (granted,
nothing called) and ``called`` (the provider has acted, its answer is not recorded).
"""

import os
import signal
import sys
from typing import NoReturn

import anyio

from tenure.authority.authority import Authority
from tenure.model.execution import ExecutionSubmission
from tenure.model.json_value import JsonObject
from tenure.ports.provider import (
    OutputPage,
    Provider,
    ProviderRecovery,
    ProviderTraits,
    ProvisionAnswer,
    ProvisionRequest,
)
from tenure.wiring.ledgers import open_ledger
from tenure.wiring.providers import open_providers
from tenure.wiring.witness import HostWitness


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


class DyingProvider:
    """The real provider, whose caller does not survive the call."""

    def __init__(self, provider: Provider, point: str) -> None:
        self.provider_id = provider.provider_id
        self.traits: ProviderTraits = provider.traits
        self.recovery: ProviderRecovery | None = provider.recovery
        self._provider = provider
        self._point = point

    def check_instruction(self, instruction: JsonObject) -> None:
        self._provider.check_instruction(instruction)

    async def provision(self, request: ProvisionRequest) -> ProvisionAnswer:
        if self._point == "begun":
            die()
        await self._provider.provision(request)
        die()

    async def read_output(self, *, mark: str, offset: int, limit: int) -> OutputPage | None:
        return await self._provider.read_output(mark=mark, offset=offset, limit=limit)


async def main(
    url: str, execution_id: str, point: str, provider_id: str, command: list[str]
) -> None:
    async with open_ledger(url) as ledger:
        provider = open_providers(ledger)[provider_id]
        providers = {provider_id: DyingProvider(provider, point)}
        authority = Authority(ledger, providers, witness=HostWitness())
        submission = ExecutionSubmission(
            workflow_id="crash",
            instruction={"command": command, "cwd": "/"},
            provider_ids=(provider_id,),
        )
        await authority.submit(execution_id=execution_id, submission=submission)
        if point == "submitted":
            die()
        await authority.dispatch(execution_id=execution_id)


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:5], sys.argv[5:])
