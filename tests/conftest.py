"""Properties are explored the same way on every run; `--hypothesis-profile explore` looks further, at random."""

from __future__ import annotations

from hypothesis import settings

# No deadline: these machines are shared, and a slow moment is not a wrong answer.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", max_examples=2_000, deadline=None)
settings.load_profile("same")
