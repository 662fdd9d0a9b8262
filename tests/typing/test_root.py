"""What a type checker sees of the package root. mypy reads these files, pytest runs them."""

from typing import assert_type

import tenure


def test_the_version_is_a_string() -> None:
    assert_type(tenure.__version__, str)
    assert tenure.__version__
