"""Tell the time of day from an anchor and the boot-time clock, so that no wall clock matters."""

from collections.abc import Callable
from dataclasses import dataclass, field

from tenure.machine.host import BootTime


@dataclass(frozen=True, slots=True, kw_only=True)
class BootClock:
    """A clock that was set once in a boot and then runs on the boot-time clock.

    All who share an anchor share the time to the millisecond. It never goes back within one boot,
    counts through suspend, and setting the host's wall clock has no effect on it.
    """

    anchor_boot_id: str
    """The boot in which the anchor was taken; in any other the anchor means nothing."""
    anchor_boot_ms: int
    """Boot-time clock at the anchor, milliseconds."""
    anchor_wall_ms: int
    """Time of day at the anchor, milliseconds since the Unix epoch."""
    boottime: Callable[[], int] = field(default_factory=BootTime.of_this_process)
    """Reads the boot-time clock, in milliseconds, without the offset of a time namespace."""

    @classmethod
    def anchored(
        cls,
        *,
        boot_id: str,
        wall_ms: int,
        not_before_ms: int = 0,
        boottime: Callable[[], int] | None = None,
    ) -> "BootClock":
        """Take an anchor now.

        Args:
            boot_id: this boot.
            wall_ms: the time of day now, milliseconds since the Unix epoch.
            not_before_ms: the last instant that was ever written under an earlier anchor; the
                time of day is lifted to it if it lies behind.
            boottime: reads the boot-time clock; the host's by default.

        Raises:
            OSError: the host's boot-time clock cannot be read.
        """
        source = BootTime.of_this_process() if boottime is None else boottime
        return cls(
            anchor_boot_id=boot_id,
            anchor_boot_ms=source(),
            anchor_wall_ms=max(wall_ms, not_before_ms),
            boottime=source,
        )

    def now_ms(self) -> int:
        """Milliseconds since the Unix epoch."""
        return self.anchor_wall_ms + self.boottime() - self.anchor_boot_ms
