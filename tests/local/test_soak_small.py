"""The soak, small: intake is killed between admission and the last row, and every row ends once."""

from __future__ import annotations

from bench.soak import soak


def test_rows_end_once_with_one_request_each_though_intake_is_killed() -> None:
    soaked = soak(rows=300, kills=1)
    assert soaked.faults == []
    assert (soaked.terminal, soaked.classified, soaked.model_requests) == (300, 300, 300)
    assert len(soaked.kills_at) == 1
    assert soaked.kills_at[0] < 300
    assert soaked.peaks_mib["intake"] > 0
