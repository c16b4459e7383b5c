"""Measurements: `python -m bench` prints the table of bars; `bench.soak` and `bench.costs` are commands too."""
