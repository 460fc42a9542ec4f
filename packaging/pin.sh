#!/bin/sh
# Writes the exact versions that `make setup` installs, from the ranges in pyproject.toml:
#
#   requirements.txt      what Gnomon needs to be built and to run
#   requirements-dev.txt  what tests, linters and documentation need on top of that
#
# `make pin` calls it with the oldest Python that Gnomon supports; versions are chosen that exist,
# as wheels, for its very first release (Debian 12 has 3.11.2, and there are packages that want
# 3.11.5). Formatters and type checkers change what they accept from release to release: pinned, a
# commit that passed today passes tomorrow.
set -eu

python=${1:?usage: pin.sh PYTHON (the oldest supported one)}
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$python" -m venv "$work/venv"
"$work/venv/bin/python" - "$work" <<'PYTHON'
import json, pathlib, subprocess, sys, tomllib

work = pathlib.Path(sys.argv[1])
pyproject = tomllib.loads(pathlib.Path("../pyproject.toml").read_text())
project = pyproject["project"]
oldest = project["requires-python"].removeprefix(">=")
if not oldest == ".".join(map(str, sys.version_info[:2])):
    sys.exit(f"pin: needs Python {oldest}, as markers depend on the Python that chooses")

# For which machines a package is wanted: pip says what it chose for this one.
markers = {
    wish.partition(";")[0].rstrip("0123456789.>=< "): wish.partition(";")[2].strip().replace("'", '"')
    for wish in sum(project["optional-dependencies"].values(), []) if ";" in wish
}

def pinned(metadata):
    marker = markers.get(metadata["name"], "")
    return f"{metadata['name']}=={metadata['version']}" + (f"; {marker}" if marker else "")

def choose(wanted, fixed=()):
    (work / "fixed").write_text("\n".join(fixed))
    command = [sys.executable, "-m", "pip", "install", "-qq", "--dry-run", "--ignore-installed"]
    command += ["--only-binary", ":all:", "--python-version", oldest + ".0", "--target", work / "to"]
    command += ["--report", work / "report", "-c", work / "fixed", *wanted]
    subprocess.run(command, check=True)
    chosen = json.loads((work / "report").read_text())["install"]
    return sorted(pinned(one["metadata"]) for one in chosen)

def write(name, lines):
    header = "# Written by packaging/pin.sh (make pin); do not edit.\n"
    pathlib.Path(name).write_text(header + "".join(line + "\n" for line in lines))

run = choose(pyproject["build-system"]["requires"] + project["dependencies"])
everything = choose(sum(project["optional-dependencies"].values(), []) + run)
write("requirements.txt", run)
write("requirements-dev.txt", [line for line in everything if line not in run])
PYTHON
