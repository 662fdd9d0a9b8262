"""``tenure ledger``: make, upgrade and examine a ledger."""

from tenure.cli.exit_code import OK, STILL_OWED
from tenure.cli.opening import open_existing
from tenure.cli.options import Common
from tenure.cli.writing import put, put_json
from tenure.errors import LedgerOpenError
from tenure.ledger.ledger import Ledger


async def init(*, common: Common = Common()) -> int:  # noqa: B008 - it is frozen
    """Make a ledger, unless there is one.

    Args:
        common: Options of every command.
    """
    try:
        async with open_existing(common) as ledger:
            return _say(ledger, common, "exists", is_new=False)
    except LedgerOpenError as exc:
        if exc.reason != "missing":
            raise
    async with open_existing(common, create=True) as ledger:
        return _say(ledger, common, "made", is_new=True)


async def upgrade(*, common: Common = Common()) -> int:  # noqa: B008 - it is frozen
    """Bring a ledger's tables up to date. Make a backup first.

    Args:
        common: Options of every command.
    """
    async with open_existing(common, upgrade=True) as ledger:
        return _say(ledger, common, "up to date", is_new=False)


async def check(*, common: Common = Common()) -> int:  # noqa: B008 - it is frozen
    """Examine the whole ledger: its file, and the sense of its records.

    Args:
        common: Options of every command.
    """
    async with open_existing(common) as ledger:
        problems = list(await ledger.check())
        if common.json:
            put_json({"ledgerUrl": ledger.url, "ledgerId": ledger.ledger_id, "problems": problems})
        else:
            for problem in problems:
                put(problem)
            put(f"{ledger.url}: {f'{len(problems)} problems' if problems else 'sound'}")
    return STILL_OWED if problems else OK


def _say(ledger: Ledger, common: Common, what: str, *, is_new: bool) -> int:
    if common.json:
        put_json({"ledgerUrl": ledger.url, "ledgerId": ledger.ledger_id, "isNew": is_new})
    else:
        put(f"{ledger.url}: {what} (id {ledger.ledger_id})")
    return OK
