"""The command line: ``tenure``. The only code that knows the terminal.

Each command is a module of its own, loaded when it is called. Standard output carries what was
asked for and nothing else; what Tenure itself has to say goes to standard error.
"""

from tenure.cli.entry import main

__all__ = ["main"]
