"""Files written for people: whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from tempfile import NamedTemporaryFile

from cli.errors import CommandError
from functions.text import one_line


def write_whole(target: Path, chunks: Iterable[bytes]) -> None:
    """Write the chunks under that name once they are all there; folders on the way are made. Raises CommandError."""
    part: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # Renamed when whole, so that a file of that name is never half of one.
        with NamedTemporaryFile(dir=target.parent, prefix=".", suffix=".part", delete=False) as stream:
            part = Path(stream.name)
            for chunk in chunks:
                stream.write(chunk)
        part.chmod(0o644)
        part.replace(target)
        part = None
    except OSError as error:
        reason = (error.strerror or "input/output error").lower()
        raise CommandError(f"the results cannot be written to {one_line(str(target))}: {reason}.") from None
    finally:
        if part is not None:
            part.unlink(missing_ok=True)
