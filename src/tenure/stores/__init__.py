"""Stores: each loads rows, saves rows, and commits them in one transaction."""
