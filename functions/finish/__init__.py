"""Exact completion, results and notices."""
