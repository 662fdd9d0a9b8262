"""The realization of the port over any store: validation, group commit, reads, clock."""
