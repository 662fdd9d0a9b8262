"""Opening an authority: a ledger with the providers and the witness of this process."""

from collections.abc import Mapping

from tenure.authority.authority import Authority, Converge
from tenure.ledger.ledger import Ledger
from tenure.ports.provider import Provider
from tenure.remediation.settings import ControllerSettings
from tenure.wiring.providers import open_providers
from tenure.wiring.witness import HostWitness


def open_authority(
    ledger: Ledger,
    *,
    providers: Mapping[str, Provider] | None = None,
    converge: Converge | None = None,
    settings: ControllerSettings | None = None,
) -> Authority:
    """Make an authority that acts in the name of this process.

    Args:
        ledger: an open ledger; closing it stays the caller's.
        providers: by id; by default all that this process can reach.
        converge: takes ends over into the host's own state, at least once each.
        settings: how patient it is.

    Raises:
        InvalidInputError: the settings break their rules.
        OSError: this host cannot say who this process is; Linux with its own /proc is needed.
    """
    return Authority(
        ledger,
        open_providers(ledger) if providers is None else providers,
        witness=HostWitness(),
        settings=settings,
        converge=converge,
    )
