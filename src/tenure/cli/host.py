"""Opening a ledger with everything that acts on it from here."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import msgspec

from tenure.authority.authority import Authority
from tenure.cli.opening import open_existing
from tenure.cli.options import Common
from tenure.ledger.ledger import Ledger
from tenure.ports.incarnation import IncarnationWitness
from tenure.ports.provider import Provider
from tenure.wiring.providers import open_providers
from tenure.wiring.witness import HostWitness


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that acts on one ledger from here."""

    ledger: Ledger
    providers: Mapping[str, Provider]
    witness: IncarnationWitness
    authority: Authority


@asynccontextmanager
async def open_host(common: Common, *, create: bool = False) -> AsyncIterator[Host]:
    """Open the ledger, and what acts on it.

    Raises:
        LedgerOpenError: the ledger cannot be opened, or is missing and not to be made.
        ProviderError: this machine cannot offer a provider.
    """
    async with open_existing(common, create=create) as ledger:
        providers = open_providers(ledger)
        witness = HostWitness()
        yield Host(
            ledger=ledger,
            providers=providers,
            witness=witness,
            authority=Authority(ledger, providers, witness=witness),
        )
