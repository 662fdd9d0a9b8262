"""The providers that this process can reach: our own, and those that other packages offer.

A provider is opened when it is first asked for, so that one that is broken is in nobody's way, and
one that is slow to import costs only those who use it.
"""

from collections.abc import Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Final, cast

from tenure.errors import ProviderError
from tenure.ledger.ledger import Ledger
from tenure.ports.provider import Provider, ProviderSite, ProviderTraits
from tenure.wiring.ledgers import state_folder

ATTEMPTS_FOLDER = "attempts"
GROUP: Final = "tenure.providers"
"""The group of entry points in which a package names its provider's ``ProviderFactory``."""
OWN: Final[Mapping[str, str]] = {
    "detached": "tenure.providers.detached:open_provider",
    "process": "tenure.providers.process:open_provider",
}
"""Ours, found without a search; nobody else's entry point replaces them."""

_MEMBERS: Final = (
    "provider_id",
    "traits",
    "recovery",
    "check_instruction",
    "provision",
    "read_output",
)
_RECOVERY_MEMBERS: Final = (
    "discover",
    "inspect",
    "terminate",
    "spooled_outcome",
    "acknowledge_outcome",
)


class Providers(Mapping[str, Provider]):
    """Every provider by id. Asking for one that is broken raises, and says what is wrong with it.

    Iterating names those that are offered, broken or not; ``in`` is true of those that work.
    """

    def __init__(self, site: ProviderSite) -> None:
        """Open nothing yet."""
        self._site = site
        self._opened: dict[str, Provider] = {}

    def __getitem__(self, provider_id: str) -> Provider:
        """Give the provider.

        Raises:
            KeyError: nobody offers one of that id.
            ProviderError: it cannot be imported or opened here, is no provider, or two packages
                offer one.
        """
        if provider_id not in self._opened:
            self._opened[provider_id] = _open(_find(provider_id), self._site)
        return self._opened[provider_id]

    def __contains__(self, provider_id: object) -> bool:
        """Whether there is one that can be used."""
        try:
            return isinstance(provider_id, str) and self[provider_id] is not None
        except (KeyError, ProviderError):
            return False

    def __iter__(self) -> Iterator[str]:
        """Name those that are offered."""
        return iter(sorted({*OWN, *entry_points(group=GROUP).names}))

    def __len__(self) -> int:
        """Count those that are offered."""
        return sum(1 for _ in self)


def open_providers(ledger: Ledger, *, root: Path | None = None) -> Mapping[str, Provider]:
    """Offer every provider of this process, by id; each is opened when it is first asked for.

    Args:
        ledger: whose time they keep.
        root: where local attempts keep their folders; the user's state folder by default.
    """
    return Providers(ProviderSite(now=ledger.now, root=root or state_folder() / ATTEMPTS_FOLDER))


def _find(provider_id: str) -> EntryPoint:
    if provider_id in OWN:
        return EntryPoint(name=provider_id, value=OWN[provider_id], group=GROUP)
    found = {point.value: point for point in entry_points(group=GROUP, name=provider_id)}
    if not found:
        raise KeyError(provider_id)
    if len(found) > 1:
        raise ProviderError(
            provider_id=provider_id,
            seen=f"it is offered more than once: {', '.join(sorted(found))}",
            advice="uninstall all packages but one of those",
        )
    return next(iter(found.values()))


def _open(point: EntryPoint, site: ProviderSite) -> Provider:
    try:
        factory = point.load()
        opened: object = factory(site)
    except ProviderError:
        raise
    except Exception as exc:
        raise ProviderError(
            provider_id=point.name,
            seen=f"it cannot be opened: {type(exc).__name__}: {exc}",
            advice=f"repair or uninstall what offers {point.value!r}",
        ) from exc
    defect = _defect(opened, point.name)
    if defect is not None:
        raise ProviderError(
            provider_id=point.name,
            seen=f"what it opened is no provider: {defect}",
            advice=f"repair or uninstall what offers {point.value!r}",
        )
    return cast("Provider", opened)  # as far as that can be seen


def _defect(opened: object, provider_id: str) -> str | None:
    missing = [name for name in _MEMBERS if not hasattr(opened, name)]
    recovery = getattr(opened, "recovery", None)
    if recovery is not None:
        missing += [f"recovery.{name}" for name in _RECOVERY_MEMBERS if not hasattr(recovery, name)]
    if missing:
        return f"it lacks {', '.join(missing)}"
    own_id, traits = getattr(opened, "provider_id", None), getattr(opened, "traits", None)
    if own_id != provider_id:
        return f"its id is {own_id!r}"
    if not isinstance(traits, ProviderTraits):
        return f"its traits are of type {type(traits).__name__}"
    return None
