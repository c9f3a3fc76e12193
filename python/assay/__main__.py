"""The command `assay` of an installed package: this process becomes the program."""

from __future__ import annotations

import os
import sys

from assay._program import find_program
from assay.errors import MachineError


def main() -> None:
    """Never returns: the program's exit code and signals are this process's."""
    try:
        program = str(find_program())
    except MachineError as missing:
        print(f"assay: {missing}", file=sys.stderr)
        sys.exit(missing.exit_code)
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
