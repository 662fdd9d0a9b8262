"""``tenure version``."""

import platform
from importlib.metadata import version as distribution_version

from tenure.cli.exit_code import OK
from tenure.cli.options import Common
from tenure.cli.writing import put, put_json


def version(*, common: Common = Common()) -> int:  # noqa: B008 - it is frozen
    """Print the version.

    Args:
        common: Options of every command.
    """
    number = distribution_version("tenure")
    if common.json:
        put_json({"version": number, "python": platform.python_version()})
    else:
        put(f"tenure {number}")
    return OK
