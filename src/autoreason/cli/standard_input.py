"""Problems on standard input: copied to a file by a process of its own, because ours must not see private tests."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from autoreason.errors import InvalidInput

_NAME = "standard input"
_COPY = """
import sys
left = int(sys.argv[1])
try:
    while left and (block := sys.stdin.buffer.read(min(left, 1 << 20))):
        sys.stdout.buffer.write(block)
        left -= len(block)
    sys.stdout.buffer.flush()
except OSError as error:
    sys.exit(error.strerror or str(error))
except KeyboardInterrupt:
    sys.exit("interrupted")
"""


@contextmanager
def on_disk(problems: Path) -> Iterator[Path]:
    """The file that is meant; what comes in on standard input is one for as long as this lasts."""
    if str(problems) != "-":
        yield problems
        return
    import tempfile

    with tempfile.TemporaryDirectory(prefix="autoreason-") as folder:
        path = Path(folder, _NAME)
        _copy_to(path)
        try:
            yield path
        except InvalidInput as error:
            # The user does not know the temporary file.
            raise InvalidInput(str(error).replace(str(path), _NAME)) from None


def _copy_to(path: Path) -> None:
    import subprocess

    from autoreason.programs.problems.formats import MAX_FILE_BYTES

    # One byte more than is read of any file, so that what is too large is refused as such.
    command = [sys.executable, "-I", "-S", "-c", _COPY, str(MAX_FILE_BYTES + 1)]
    with path.open("xb") as file:
        copied = subprocess.run(
            command, stdin=sys.stdin, stdout=file, stderr=subprocess.PIPE, check=False
        )
    if copied.returncode:
        reason = copied.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise InvalidInput(f"cannot read {_NAME}: {reason}; name a file of problems")
