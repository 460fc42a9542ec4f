#!/bin/sh
# Installs Gnomon for all who work on a machine. `make install PREFIX=...` calls it.
#
#   install.sh BUILD PREFIX
#
# BUILD is the environment that Gnomon was built with (.venv). Below PREFIX come:
#
#   bin/                   gnomon, hpmcount, hpmstat, peekperf, xprofiler
#   lib/gnomon/            the Python environment that they run in, of the versions that are pinned
#   lib/, include/         libgnomon, libhpm, libhpm_plugin and libmio, with pkg-config and CMake files
#   share/gnomon/fortran/  the Fortran modules' sources
#   share/                 completion for bash and zsh
#
# What is there of an earlier installation is replaced.
set -eu

fail() {
	printf 'install: %s\n' "$@" >&2
	exit 1
}

[ $# -eq 2 ] || fail "usage: install.sh BUILD PREFIX"
cd "$(dirname "$0")/.."
build=$(cd "$1" && pwd)
case $2 in
/*) prefix=${2%/} ;;
*) fail "PREFIX is '$2': give it from the root on, as in PREFIX=\$HOME/.local" ;;
esac
case $prefix in
*[!A-Za-z0-9_./+@,=-]*) fail "PREFIX is '$prefix': a path without blanks, which shells take apart" ;;
esac
mkdir -p "$prefix/bin" 2>/dev/null && [ -w "$prefix/bin" ] || fail \
	"$prefix/bin cannot be written" "call it as who may, or give another PREFIX=FOLDER"

environment=$prefix/lib/gnomon
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$build/bin/python" -m pip --disable-pip-version-check wheel -qq --no-build-isolation --no-deps \
	-w "$work" .
if [ -e "$environment" ] && [ ! -e "$environment/pyvenv.cfg" ]; then
	fail "$environment is there and is not Gnomon's environment: remove it, or give another PREFIX"
fi
"$build/bin/python" -c 'import sys; print(sys._base_executable)' >"$work/python"
"$(cat "$work/python")" -m venv --clear "$environment"
"$environment/bin/python" -m pip --disable-pip-version-check install -qq \
	-c packaging/requirements.txt "$work"/gnomon-*.whl
for command in gnomon hpmcount hpmstat peekperf xprofiler Xprofiler; do
	ln -sf "../lib/gnomon/bin/$command" "$prefix/bin/$command"
done

{
	cmake -S . -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_INSTALL_LIBDIR=lib \
		-DCMAKE_INSTALL_PREFIX="$prefix" &&
		cmake --build "$work/build" && cmake --install "$work/build"
} >"$work/log" 2>&1 || {
	tail -n 30 "$work/log" >&2
	fail "the C libraries could not be installed; the last lines are above"
}

bash=$prefix/share/bash-completion/completions
zsh=$prefix/share/zsh/site-functions
mkdir -p "$bash" "$zsh"
"$prefix/bin/gnomon" completion bash >"$bash/gnomon"
for command in hpmcount hpmstat peekperf xprofiler; do
	ln -sf gnomon "$bash/$command"
done
"$prefix/bin/gnomon" completion zsh >"$zsh/_gnomon"

printf 'installed below %s: gnomon, hpmcount, hpmstat, peekperf, xprofiler, libgnomon, libhpm, libhpm_plugin, libmio\n' "$prefix"
case ":$PATH:" in
*":$prefix/bin:"*) echo "try: gnomon doctor" ;;
*) echo "try: $prefix/bin/gnomon doctor" ;;
esac
