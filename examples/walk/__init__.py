"""A walk through what goes wrong with uploads, and what an operator does about it, on a local cloud: `make walk`."""
