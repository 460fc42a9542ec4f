"""`python -m gnomon` is `gnomon`, for where no folder with its commands is on PATH."""

from __future__ import annotations

import sys

from gnomon.cli import gnomon_script

if __name__ == "__main__":
    sys.exit(gnomon_script())
