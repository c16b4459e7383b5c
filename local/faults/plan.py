"""Faults of the handlers, as data, and how the plan of a cloud reaches its handler processes. No import of theirs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from local.emulator import Emulator
from local.errors import LocalCloudError

PLAN_VARIABLE = "LOCAL_HANDLER_FAULTS"
"""Where a handler process finds the plan; unset where there is none."""

_LOADS_THE_HANDLER = "mod = importlib.import_module(module_name)"
_ARMED_FIRST = 'importlib.import_module("local.faults.inside").arm(); ' + _LOADS_THE_HANDLER


class PointFault(BaseModel):
    """`after` arrivals at `point` pass, then `times` of them end as `does`, over all processes of the cloud together.

    `raise`: an exception; `abort`: one that nothing catches; `kill`: SIGKILL; `sleep`: longer than any timeout.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    point: str
    does: Literal["raise", "abort", "kill", "sleep"]
    after: int = Field(0, ge=0)
    times: int = Field(1, ge=1)


class HandlerPlan(BaseModel):
    """`hooks` are modules that make the points: each has `install(arrived)` and calls `arrived(point)` there."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    hooks: Sequence[str]
    faults: Sequence[PointFault]


def carry(plan: HandlerPlan, emulator: Emulator) -> Path:
    """Let every handler process of this server be armed before it loads its handler; returns where they count.

    The deployed code knows nothing of it: the emulator's own bootstrap asks `local.faults.inside`.
    """
    script = emulator.runtime._PYTHON_WORKER_SCRIPT
    if script.count(_LOADS_THE_HANDLER) != 1:
        raise LocalCloudError(
            "This MiniStack loads handlers another way, so none can be armed; install the pinned one."
        )
    emulator.runtime._PYTHON_WORKER_SCRIPT = script.replace(_LOADS_THE_HANDLER, _ARMED_FIRST)
    # In the cloud's own folder for temporary files: it goes with it.
    folder = Path(tempfile.mkdtemp(prefix="faults-"))
    (folder / "plan.json").write_text(plan.model_dump_json())
    os.environ[PLAN_VARIABLE] = str(folder / "plan.json")
    return folder
