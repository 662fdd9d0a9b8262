"""How patient a controller is. All durations are seconds of the ledger's clock."""

import math

import msgspec

from tenure.errors import InvalidInputError


class ControllerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Durations and bounds of authority and controllers."""

    lease_seconds: float = 15.0
    """How long a claim is held without renewal. At least three renewal periods."""
    renewal_seconds: float = 5.0
    """How often a held claim is renewed."""
    call_seconds: float = 10.0
    """Hard deadline of one provider call; shorter than a lease by the margin."""
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
    open_max: int = 100
    """Most attempts that may be open at one provider before another is begun. Several authorities
    that look at the same moment may exceed it by what each begins."""

    @property
    def margin_seconds(self) -> float:
        """How long before its lease ends a provider call has to be over: a tenth of the lease."""
        return self.lease_seconds / 10

    def check(self) -> "ControllerSettings":
        """Return these settings when they keep the rules.

        Raises:
            InvalidInputError: a duration that is none, a lease shorter than three renewals, or
                than a call with its margin, or a pass that may work on nothing.
        """
        for name in self.__struct_fields__:
            self._check_number(name)
        if self.lease_seconds < 3 * self.renewal_seconds:
            raise InvalidInputError(
                field="lease_seconds",
                given=f"{self.lease_seconds} s with a renewal each {self.renewal_seconds} s",
                allowed="at least three renewal periods",
            )
        if self.lease_seconds < self.call_seconds + self.margin_seconds:
            raise InvalidInputError(
                field="call_seconds",
                given=f"{self.call_seconds} s with a lease of {self.lease_seconds} s",
                allowed="at most nine tenths of a lease",
            )
        return self

    def _check_number(self, name: str) -> None:
        value = getattr(self, name)
        if name.endswith("_max") and name != "doubt_seconds_max":
            if type(value) is not int or value < 1:
                given, allowed = repr(value)[:40], "an integer of at least 1"
                raise InvalidInputError(field=name, given=given, allowed=allowed)
            return
        least = 0.0 if name.endswith("grace_seconds") else math.ulp(0.0)
        if type(value) not in (int, float) or not least <= value <= _SECONDS_MAX:
            kind = "from 0" if least == 0.0 else "more than 0"
            raise InvalidInputError(
                field=name,
                given=repr(value)[:40],
                allowed=f"a number of seconds, {kind}, at most {_SECONDS_MAX:g}",
            )


_SECONDS_MAX = 1e9
