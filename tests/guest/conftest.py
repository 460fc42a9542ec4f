"""What runs in the machines is not for the host: `make test-guest` takes it there."""

from __future__ import annotations

collect_ignore = ["inside"]
