#!/usr/bin/env bash
# Proves that `make demo` and `make test` each work alone on a bare Debian.
#
#   bare-root.sh [--keep] [--copy] [--suite NAME] [--only setup|demo|test] [FOLDER]
#
# Makes a minimal Debian (bookworm, unless --suite names another) with git, make, python3 and
# ca-certificates in FOLDER (or a temporary one), and in a copy of it for each of the two commands a
# fresh clone of this repository's HEAD (--copy: the working tree as it stands, committed or not),
# then runs the command there with a clean environment. The only things brought along are the
# machine's own package sources, certificates and pip configuration. Needs root and debootstrap.
#
# Everything is mounted in a mount namespace of its own, so that whatever happens nothing stays
# mounted; the roots are removed at the end unless --keep is given.
set -euo pipefail

suite=bookworm
keep=""
copy=""
only="demo test"
folder=""
inside=""

fail() {
	printf 'bare-root: %s\n' "$*" >&2
	exit 1
}

say() {
	printf 'bare-root: %s\n' "$*"
}

arguments=("$@")
while [ $# -gt 0 ]; do
	case $1 in
	--keep) keep=yes ;;
	--copy) copy=yes ;;
	--suite) suite=${2:?--suite needs a name} && shift ;;
	--only) only=${2:?--only needs setup, demo or test} && shift ;;
	--inside) inside=${2:?} && shift ;;
	-*) fail "unknown option $1; usage: bare-root.sh [--keep] [--copy] [--suite NAME] [--only setup|demo|test] [FOLDER]" ;;
	*) folder=$1 ;;
	esac
	shift
done
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# --- outside: the folder, and its removal ---------------------------------------------------------

outside() {
	[ "$(id -u)" = 0 ] || fail "needs root (it uses chroot and mount)"
	command -v debootstrap >/dev/null || fail "needs debootstrap: apt-get install debootstrap"
	if [ -z "$folder" ]; then
		folder=$(mktemp -d "${TMPDIR:-/tmp}/gnomon-bare.XXXXXX")
	elif [ -e "$folder" ]; then
		fail "$folder exists; name a folder that does not"
	else
		mkdir -p "$folder"
	fi
	folder=$(cd "$folder" && pwd)
	# shellcheck disable=SC2154  # status is set in the trap
	trap 'status=$?
		if [ -n "$keep" ]; then
			say "kept in $folder"
		else
			rm -rf --one-file-system "$folder"
		fi
		exit $status' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	unshare --mount --propagation private -- \
		"$BASH" "${BASH_SOURCE[0]}" "${arguments[@]}" --inside "$folder"
}

# --- inside the mount namespace -------------------------------------------------------------------

# apt's own view of its sources, as lines of a sources.list for the suite.
sources() {
	# shellcheck disable=SC2016  # apt fills these in
	apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' |
		awk -v suite="$suite" '$2 == suite || index($2, suite "-") == 1 { print "deb", $1, $2, "main" }' |
		sort -u
}

bring() {
	for path in "$@"; do
		if [ -e "$path" ]; then
			mkdir -p "$base$(dirname "$path")"
			cp -rL "$path" "$base$(dirname "$path")/"
		fi
	done
}

# The machine's package sources, certificates and the configuration of pip and npm; nothing else.
prepare() {
	sources >"$base/etc/apt/sources.list"
	bring /etc/apt/apt.conf.d /etc/apt/auth.conf /etc/apt/auth.conf.d /etc/resolv.conf /etc/hosts
	bring /usr/local/share/ca-certificates
	chroot "$base" update-ca-certificates >/dev/null 2>&1
	bring /etc/ssl/certs/ca-certificates.crt
	bring /etc/pip.conf /etc/xdg/pip
	bring /etc/npmrc /usr/etc/npmrc
	for path in .config/pip .pip .npmrc; do
		if [ -e "$HOME/$path" ]; then
			mkdir -p "$base/root/$(dirname "$path")"
			cp -rL "$HOME/$path" "$base/root/$path"
		fi
	done
}

mount_kernel() {
	mount -t proc proc "$1/proc"
	mount -t sysfs sysfs "$1/sys"
	mount --rbind /dev "$1/dev"
	mount -t tracefs tracefs "$1/sys/kernel/tracing" || say "no tracefs here"
	mount --rbind /sys/fs/cgroup "$1/sys/fs/cgroup" || say "no cgroups here"
}

clone() {
	if [ -n "$copy" ]; then
		mkdir "$1/gnomon"
		git -C "$repository" -c safe.directory='*' ls-files -z -c -o --exclude-standard |
			tar -C "$repository" --null --ignore-failed-read -T - -cf - | tar -C "$1/gnomon" -xf -
		git -C "$1/gnomon" init -q
	else
		git -c safe.directory='*' clone -q --no-local "$repository" "$1/gnomon"
	fi
}

# The environment variables that say where packages come from and whom to trust.
trusted() {
	env -0 | grep -zE '^(PIP_[A-Z_]+|(npm_config|NPM_CONFIG)_[A-Za-z_]+|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR)|(REQUESTS|CURL)_CA_BUNDLE|(https?|no|all)_proxy|(HTTPS?|NO|ALL)_PROXY)=' || true
}

megabytes() {
	du -smx "$1" | cut -f1
}

now() {
	date +%s.%N
}

since() {
	awk -v from="$1" -v to="$(now)" 'BEGIN { printf "%.1f", to - from }'
}

in_root() {
	local root=$1
	shift
	local -a environment
	mapfile -d '' environment < <(trusted)
	chroot "$root" /usr/bin/env -i HOME=/root LANG=C.UTF-8 TERM=dumb \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		"${environment[@]}" /bin/sh -c 'cd /gnomon && exec "$@"' sh "$@" </dev/null
}

inside() {
	local begin mirror table="" failed=0
	base=$folder/base
	mirror=$(sources | awk -v suite="$suite" '$3 == suite { print $2; exit }')
	[ -n "$mirror" ] || fail "this machine's apt sources have no suite named $suite"

	begin=$(now)
	say "debootstrap $suite into $base"
	debootstrap --variant=minbase --include=git,make,python3,ca-certificates \
		"$suite" "$base" "$mirror" >"$folder/debootstrap.log" 2>&1 || {
		tail -n 20 "$folder/debootstrap.log" >&2
		fail "debootstrap failed; its last lines are above"
	}
	prepare
	table+=$(printf '%-28s %9s %9s' "bare $suite" "$(since "$begin") s" "$(megabytes "$base") MB")$'\n'

	for command in $only; do
		local root=$folder/$command size
		cp -a --reflink=auto "$base" "$root"
		clone "$root"
		mount_kernel "$root"
		say "make $command, alone, in $root"
		begin=$(now)
		if ! in_root "$root" make "$command"; then
			say "make $command FAILED"
			failed=1
		fi
		size="$(megabytes "$root") MB"
		table+=$(printf '%-28s %9s %9s' "make $command, from nothing" "$(since "$begin") s" "$size")$'\n'
		size="$(megabytes "$root/gnomon") MB"
		table+=$(printf '%-28s %9s %9s' "  the clone after it" "" "$size")$'\n'
	done
	printf '\n%s' "$table"
	return "$failed"
}

if [ -n "$inside" ]; then
	folder=$inside
	inside
else
	outside
fi
