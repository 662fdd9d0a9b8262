"""How patient a controller is. All durations are seconds of the ledger's clock."""

import msgspec

from tenure.errors import InvalidInputError


class ControllerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Durations and bounds of authority and controllers."""

    lease_seconds: float = 15.0
    """How long a claim is held without renewal. At least three renewal periods."""
    renewal_seconds: float = 5.0
    """How often a held claim is renewed."""
    call_seconds: float = 10.0
    """Hard deadline of one provider call; shorter than a lease."""
    look_seconds: float = 5.0
    """When to look again at what runs well."""
    doubt_seconds: float = 1.0
    """When to look again after the first doubt; doubled for each further one."""
    doubt_seconds_max: float = 300.0
    """Longest time between two looks at something doubtful."""
    reclamation_grace_seconds: float = 2.0
    """How long an allocation may outlive its committed outcome before it is terminated."""
    deadline_grace_seconds: float = 15.0
    """How long after its deadline a worker may take to stop its work by itself."""
    parallel_max: int = 8
    """Most pieces of open work that one pass works on at once."""

    def check(self) -> "ControllerSettings":
        """Return these settings when they keep the rules.

        Raises:
            InvalidInputError: a lease shorter than three renewals, or than a call.
        """
        if self.lease_seconds < 3 * self.renewal_seconds:
            raise InvalidInputError(
                field="lease_seconds",
                given=f"{self.lease_seconds} s with a renewal each {self.renewal_seconds} s",
                allowed="at least three renewal periods",
            )
        if self.lease_seconds <= self.call_seconds:
            raise InvalidInputError(
                field="call_seconds",
                given=f"{self.call_seconds} s with a lease of {self.lease_seconds} s",
                allowed="less than a lease",
            )
        return self
