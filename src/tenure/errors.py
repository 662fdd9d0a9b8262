"""Every exception that Tenure raises, ordered by whose move it is.

``CallerError``: fix the call. ``WorldError``: make the same call later, or look at the machine.
``CorruptRecordError``: stop, and keep the evidence. What a rival did is never an error: it is a
decision (``stale``, ``resolved``, ``fenced`` …).

Each leaf has a stable kebab-case ``code``, typed fields, and a message built from them that says
what failed on what, what was seen, what is allowed, and what to do.
"""

from typing import ClassVar


class TenureError(Exception):
    """Base of all errors of this project."""

    code: ClassVar[str] = "tenure-error"
    """Stable, kebab-case; the anchor of the error's documentation."""

    def __reduce__(self) -> tuple[object, ...]:
        """Copy and pickle by fields: the initializers take keywords, not the message."""
        return _rebuild, (type(self), self.args, self.__dict__)


def _rebuild(
    kind: type[TenureError], args: tuple[object, ...], fields: dict[str, object]
) -> TenureError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(fields)
    return error


class CallerError(TenureError):
    """The call is wrong and has to be fixed. Nothing was written."""

    code = "caller-error"


class InvalidInputError(CallerError, ValueError):
    """An argument breaks the contract; raised before anything is read, unless a subclass says."""

    code = "invalid-input"

    def __init__(self, *, field: str, given: str, allowed: str) -> None:
        """Say which ``field`` was wrong, what was ``given`` (bounded), what is ``allowed``."""
        self.field = field
        self.given = given
        self.allowed = allowed
        super().__init__(f"invalid {field}: given {given}, allowed is {allowed}")


class ForeignProviderError(InvalidInputError):
    """An allocation reference names another provider than the attempt, or than its own sibling.

    The attempt's provider is read from the ledger; whatever claim is presented, this comes first.
    """

    code = "foreign-provider"

    def __init__(self, *, field: str, provider_id: str, expected_provider_id: str) -> None:
        """Say which provider the reference names, and which one it must name."""
        self.provider_id = provider_id
        self.expected_provider_id = expected_provider_id
        super().__init__(
            field=field,
            given=f"a reference of provider {provider_id!r}",
            allowed=f"only provider {expected_provider_id!r}",
        )


class DuplicateExecutionAttemptError(CallerError):
    """The attempt id already names a durable attempt. Ids are unique for all time."""

    code = "duplicate-execution-attempt"

    def __init__(self, execution_attempt_id: str) -> None:
        """Keep the id that exists already."""
        self.execution_attempt_id = execution_attempt_id
        super().__init__(
            f"create failed on attempt {execution_attempt_id!r}: the id exists already, "
            "it must be new for all time; make a fresh id, or read the existing attempt"
        )


class LedgerClosedError(CallerError):
    """The ledger handle was closed."""

    code = "ledger-closed"

    def __init__(self, ledger: str) -> None:
        """Keep which ``ledger`` was called."""
        self.ledger = ledger
        super().__init__(f"call failed on ledger {ledger}: it is closed; open it again")


class WorldError(TenureError):
    """The machine, the disk or a service is in the way; the caller did nothing wrong."""

    code = "world-error"


class StorageUnavailableError(WorldError):
    """The store could not serve the call. Nothing was written; the same call may be made later."""

    code = "storage-unavailable"

    def __init__(self, *, ledger: str, seen: str, advice: str = "try again later") -> None:
        """Keep which ``ledger`` failed and what was ``seen``."""
        self.ledger = ledger
        self.seen = seen
        super().__init__(f"storage unavailable on ledger {ledger}: {seen}; {advice}")


class CommitUnknownError(WorldError):
    """The write may or may not have happened. Read the record before acting on either."""

    code = "commit-unknown"

    def __init__(self, *, ledger: str, seen: str) -> None:
        """Keep which ``ledger`` failed and what was ``seen``."""
        self.ledger = ledger
        self.seen = seen
        super().__init__(
            f"commit unknown on ledger {ledger}: {seen}; the write may have happened, "
            "read the record again before you decide"
        )


class OverloadedError(WorldError):
    """Too many calls already wait for the ledger. Nothing was written."""

    code = "overloaded"

    def __init__(self, *, ledger: str, queue_depth_max: int) -> None:
        """Keep the bound that was reached."""
        self.ledger = ledger
        self.queue_depth_max = queue_depth_max
        super().__init__(
            f"call refused on ledger {ledger}: {queue_depth_max} calls wait already, "
            "which is the limit; slow down and try again"
        )


class LedgerOpenError(WorldError):
    """A ledger could not be opened. Nothing was changed.

    ``reason`` is one of ``unsupported-url``, ``missing``, ``newer``, ``older``, ``foreign``,
    ``read-only``, ``directory``, ``corrupt``, ``full``, ``locked``, ``driver``, ``inaccessible``.
    """

    code = "ledger-open"

    def __init__(self, *, ledger: str, reason: str, seen: str, advice: str) -> None:
        """Keep what was tried, why it was refused, and what the operator can do."""
        self.ledger = ledger
        self.reason = reason
        self.seen = seen
        self.advice = advice
        super().__init__(f"open failed on ledger {ledger}: {seen}; {advice}")


class ProviderError(WorldError):
    """A provider could not be used: unknown name, or this machine lacks what it needs."""

    code = "provider"

    def __init__(self, *, provider_id: str, seen: str, advice: str) -> None:
        """Keep which provider failed and what was seen."""
        self.provider_id = provider_id
        self.seen = seen
        super().__init__(f"provider {provider_id!r} failed: {seen}; {advice}")


class CorruptRecordError(TenureError):
    """A stored record no longer satisfies the contract. It is never answered with a decision."""

    code = "corrupt-record"

    def __init__(self, *, record: str, seen: str) -> None:
        """Keep which ``record`` is broken and what was ``seen`` (bounded)."""
        self.record = record
        self.seen = seen
        super().__init__(
            f"corrupt record {record}: {seen}; nothing was decided, keep the database for "
            "examination and restore the record from a backup"
        )
