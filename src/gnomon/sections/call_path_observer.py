"""What `gnomon run --sections-call-paths` tells programs with libhpm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.launch.observer import Observer

if TYPE_CHECKING:
    from collections.abc import Mapping


class CallPathObserver(Observer):
    """Has libhpm keep values of sections by call path; all else libhpm does by itself."""

    def environment(self) -> Mapping[str, str]:
        """Return libhpm's variable."""
        return {"HPM_CALL_PATHS": "yes"}
