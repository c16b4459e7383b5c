"""The installed command, before anything of it is imported: what can end it from outside is no traceback."""

from __future__ import annotations

import errno
import os
import sys

INTERRUPTED = 130
_OUTPUT_IS_GONE = {errno.EPIPE, errno.ENOSPC, errno.EIO}


def main() -> None:
    """Run `prospects`. Exit codes are in the help of each command."""
    try:
        # Imported here: it takes a moment, in which Ctrl-C may come.
        from cli.main import main as command  # noqa: PLC0415

        command()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except OSError as error:
        if error.errno not in _OUTPUT_IS_GONE or error.filename is not None:
            raise
        _end_without_output(error)


def _end_without_output(error: OSError) -> None:
    if error.errno != errno.EPIPE:
        sys.stderr.write(f"The output cannot be written: {(error.strerror or 'input/output error').lower()}.\n")
    # What is still buffered has nowhere to go; without this the interpreter would complain about it at its end.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(2)
