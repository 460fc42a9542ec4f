#!/usr/bin/env bash
# What `make demo` runs: two real programs counted on real input, and what is left of them.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$PWD/.venv/bin
work=build/demo
rm -rf "$work" && mkdir -p "$work"

# Threads that wait leave their CPU to the others: the machine may be busy.
export OMP_WAIT_POLICY=passive

say() { printf '\n==> %s\n' "$*"; }

input=$work/stdlib.tar
stdlib=$("$bin/python" -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
say "Input: the Python standard library's own modules, as one tar file"
find "$stdlib" -maxdepth 2 -name '*.py' -not -path '*/site-packages/*' -not -path '*/test/*' -printf '%P\n' |
	LC_ALL=C sort | tar -C "$stdlib" --mtime=@0 --owner=0 --group=0 -cf "$input" -T -
ls -l "$input" | awk '{print $5 " bytes"}'

say "gnomon count -- xz -k -c stdlib.tar"
"$bin/gnomon" count --name "$work/xz" -- xz -k -c "$input" >"$work/stdlib.tar.xz"
xz -dc "$work/stdlib.tar.xz" | cmp - "$input" && echo "(xz's output is what it should be)"

say "An OpenMP stencil of our own (examples/stencil.c), its threads told apart"
"${CC:-cc}" -O2 -g -fopenmp -o "$work/stencil" examples/stencil.c -lm
per="--per thread"
if ! "$bin/gnomon" count $per -e task-clock -- true 2>"$work/per.log"; then
	cat "$work/per.log" # this kernel cannot: the totals then
	per=
fi
# shellcheck disable=SC2086
OMP_NUM_THREADS=4 "$bin/gnomon" count $per \
	-e task-clock,context-switches,cpu-migrations,page-faults --name "$work/stencil" \
	-- "$work/stencil" 1000 200

say "The same program on an emulated PMU, as this machine may have none (gnomon count --pmu emulated)"
"$bin/gnomon" count --pmu emulated --name "$work/emulated" -- "$work/stencil" 100 40
"$bin/gnomon" report "$work/emulated" hotspots --top 5
"$bin/gnomon" report "$work/emulated" hotspots --by line --top 5

say "The stencil five times: is the machine quiet enough to compare runs?"
OMP_NUM_THREADS=2 "$bin/gnomon" count -r 5 -e task-clock,page-faults,context-switches \
	-- "$work/stencil" 500 100

say "Parts of a program, marked with libhpm (examples/hpm-c, GNOMON_EVENTS=task-clock,page-faults)"
# shellcheck disable=SC2046
"${CC:-cc}" -O2 -g -fopenmp -o "$work/relax" examples/hpm-c/relax.c \
	$("$bin/gnomon" config --cflags --libs hpm) -lm
(cd "$work" && OMP_NUM_THREADS=2 GNOMON_EVENTS=task-clock,page-faults HPM_STDOUT=yes ./relax)

say "What the run directory holds (gnomon report $work/xz)"
ls "$work/xz.gnomon"
"$bin/gnomon" report "$work/xz"

say "What this machine could count and does not (gnomon doctor)"
"$bin/gnomon" doctor

say "All of it at once, and a run to look at (gnomon run, examples/hpm-c)"
(cd "$work" && OMP_NUM_THREADS=2 GNOMON_EVENTS=task-clock,page-faults \
	"$bin/gnomon" run --name first -- ./relax)

say "A look at it in the browser (gnomon view $work/first.gnomon)"
"$bin/gnomon" view --no-browser "$work/first.gnomon" >"$work/view.log" &
server=$!
trap 'kill "$server" 2>/dev/null && wait "$server" || true' EXIT
until grep -q '^Ctrl-C' "$work/view.log"; do
	kill -0 "$server" # it has said why not
	sleep 0.1
done
"$bin/python" - "$(grep -o 'http://[^ ]*' "$work/view.log" | head -n 1)" <<'END'
import sys, urllib.request

page = urllib.request.build_opener(urllib.request.HTTPCookieProcessor()).open(sys.argv[1])
print(f"the page answers {page.status}, and is ended again")
END

say "Your turn: gnomon is in .venv/bin (README.md says how to install it elsewhere)"
cat <<END
  export PATH="$bin:\$PATH"    # then it is called gnomon, in this terminal
  .venv/bin/gnomon run -- PROGRAM    # measures a program of yours, and says how to look at it
look at the run that was just made, in the browser:
  .venv/bin/gnomon view $work/first.gnomon
END
