"""Provider ``process``: commands on this machine that end with their provisioner. Linux only.

Whatever ends the process that called ``provision`` ends the agent and all of its descendants, with
a PID namespace around them or, where there are none to be had, with a keeper that adopts orphans.
"""

from tenure.providers.process.provider import ProcessProvider, open_provider

__all__ = ["ProcessProvider", "open_provider"]
