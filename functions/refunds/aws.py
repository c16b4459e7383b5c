"""How AWS is called by the refund functions."""

from __future__ import annotations

from botocore.config import Config

# Bounded, so that what follows an answer ends within the time that is kept for it.
AWS = Config(connect_timeout=1, read_timeout=3, retries={"mode": "standard", "total_max_attempts": 3})
