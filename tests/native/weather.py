"""A capability that nobody knows: regions of a kind of its own, metrics of units of its own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from gnomon import capabilities
from gnomon.cli.main import main
from gnomon.count.capability import COUNTERS
from gnomon.launch.capability import Capability, Execution
from gnomon.launch.observer import Observer
from gnomon.model.capability_result import Collected
from gnomon.model.tables import LOCATIONS, METRICS, PATHS, PROFILE, REGIONS, Table
from gnomon.sections.capability import SECTIONS

METRICS_OF = (("temperature", "degC", "estimated"), ("humidity", "%", "modelled"))


class WeatherObserver(Observer):
    """Has the program leave its weather in the staging folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def environment(self) -> Mapping[str, str]:
        return {"WEATHER_FILE": str(self._folder / "weather")}


class Weather(Capability):
    """Two regions, each with both metrics: what the program leaves in a file, a line for each."""

    name, title, is_default = "weather", "degrees outside", True

    def observe(self, execution: Execution) -> Observer:
        return WeatherObserver(execution.folder)

    def collect(self, folder: Path) -> Collected:
        lines = (folder / "weather").read_text().splitlines()
        locations, regions, paths = Table(LOCATIONS), Table(REGIONS), Table(PATHS)
        metrics, profile = Table(METRICS), Table(PROFILE)
        locations.add(location=0, parent=-1, kind="command", host="", rank=-1, pid=-1, tid=-1,
                      name="")  # fmt: skip
        regions.add(region=0, kind="weather", name="", module="", file="", line=0)
        paths.add(path=0, parent=-1, region=0)
        for at, (name, unit, how) in enumerate(METRICS_OF):
            metrics.add(metric=at, name=name, unit=unit, formula="", how=how, component="weather",
                        domain="all", scope="node", description="")  # fmt: skip
        for at, line in enumerate(lines, start=1):
            name, *values = line.split()
            regions.add(region=at, kind="weather", name=name, module="", file="", line=0)
            paths.add(path=at, parent=0, region=at)
            for metric, value in enumerate(map(float, values)):
                profile.add(repetition=0, location=0, path=at, metric=metric, inclusive=value,
                            exclusive=value, calls=1, raw=None, enabled_ns=None,
                            running_ns=None)  # fmt: skip
        return Collected((locations, regions, paths, metrics, profile), (), ("it may rain",))


def weather_run(folder: Path, name: str, **values: tuple[float, float]) -> int:
    """Run a program in a folder that says of each region how it is there; return the status."""
    lines = "; ".join(f"echo {where} {one} {two}" for where, (one, two) in values.items())
    here = Path.cwd()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(capabilities, "CAPABILITIES", (COUNTERS, SECTIONS, Weather()))
        os.chdir(folder)
        try:
            return main(
                ["run", "--name", name, "--", "sh", "-c", f'{{ {lines}; }} > "$WEATHER_FILE"']
            )
        finally:
            os.chdir(here)
