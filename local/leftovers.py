"""`python -m local.leftovers FOLDER GROUP`: removes the folder of a group that is ending, after its last process.

Runs in a session of its own, started by a server whose caller is gone.
"""

from __future__ import annotations

import sys
from pathlib import Path

from local.group import end_group, remove_folder


def main(folder: Path, group_id: int) -> int:
    """0 when nothing is left."""
    end_group(group_id)
    return 0 if remove_folder(folder) else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2])))
