import plex from "@fontsource/ibm-plex-sans/LICENSE?url";

import { Dialog } from "./dialog";
import { HOWS, HowBadge, howMeaning } from "./how-badge";

const KEYS: readonly (readonly [string, readonly (readonly [string, string])[]])[] = [
  [
    "Everywhere",
    [
      ["g t, g f, g l, g a, g m, g k, g i, g c, g r", "tree, flame graph, call graph, table, metrics, ranks, I/O, compare, run (also 1 to 9)"],
      ["/", "filter"],
      ["o", "open a run"],
      ["d", "bright or dark"],
      ["?", "this list"],
      ["Esc", "close; leave the filter"],
    ],
  ],
  [
    "Tree",
    [
      ["↑ ↓ PgUp PgDn Home End", "move"],
      ["→ ←", "open, close; to the first child, to the parent"],
      ["Enter", "to the source line"],
      ["Shift-F10, right click", "all that is known of a node"],
      ["* and -", "open all below, close all"],
      ["h", "open the hottest path from here"],
      ["n N", "next, previous match of the filter"],
      ["s S", "sort by the next, previous column"],
      ["[ ]", "previous, next grouping"],
    ],
  ],
  [
    "Flame graph",
    [
      ["↑ ↓ ← →", "to the caller, the largest callee, the frame beside"],
      ["Home", "to the program"],
      ["Enter, click", "zoom in; in time order, narrow the time to the frame"],
      ["Backspace; Esc", "zoom out by a frame; out of all"],
      ["Shift-F10, right click", "callers and callees, source, hide, fold"],
      ["n N", "next, previous match of the search"],
      ["Tab to the band, ← → Home End", "move an end of the window, with Shift by a tenth"],
    ],
  ],
  [
    "Call graph",
    [
      ["↑ ↓ ← →", "to the caller, the callee with most, the box beside"],
      ["Home", "to the function with most"],
      ["a; c", "the next call of the function; its library"],
      ["Enter, right click", "menu of the function, call or library"],
      ["+ - 0, wheel", "zoom in, out; all of it"],
      ["/", "locate a function by name"],
    ],
  ],
  [
    "Source",
    [
      ["↑ ↓", "move the line"],
      ["n p", "next, previous line that has values"],
      ["Enter", "to the tree's node of the line"],
      ["Ctrl-F", "search in the text"],
      ["Esc", "back to the tree"],
    ],
  ],
  [
    "Metrics",
    [
      ["↑ ↓", "the metric before, after"],
      ["e", "inclusive or exclusive"],
      ["Tab to the heat map, ← → ↑ ↓", "from location to location"],
    ],
  ],
  [
    "Ranks",
    [
      ["[ ]", "messages, values of ranks"],
      ["Tab to the picture, ← → ↑ ↓", "from cell to cell, from mark to mark, with Shift ten at once"],
      ["Enter, click", "open the cell or the band of ranks; show the calls of a rank"],
      ["Backspace, Esc", "zoom out; all of it"],
    ],
  ],
  [
    "I/O",
    [
      ["[ ]", "access pattern, processes, files"],
      ["← → ↑ ↓ in the picture", "move along in time and in the file; from cell to cell"],
      ["z x, + -, wheel; a s", "zoom in and out in time; in the file"],
      ["f", "the part of the file that has requests in this time"],
      ["n N", "next, previous request"],
      ["Enter", "the source line of the request; the requests of the row"],
      ["Backspace, Esc", "zoom out; all of it"],
    ],
  ],
  [
    "Table, Compare",
    [
      ["↑ ↓ PgUp PgDn Home End", "move"],
      ["Enter", "to the source of the row"],
      ["click, right click on a title (Table)", "sort; hide, move"],
      ["← →, then s, h, < and > (Table)", "choose a column; sort by it, hide it, move it"],
    ],
  ],
  [
    "Filter of the tree, search of the flame graph",
    [
      ["sweep solver", "both words, in the name or the file"],
      ["-lookup", "without this word"],
      ["file:stencil.c", "in this file"],
      ["module:libm", "in this program or library"],
      ["/^MPI_.*send/", "a regular expression"],
      [">1%  >1000", "at least this much of the metric that is sorted by"],
    ],
  ],
];

export function HelpDialog({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keys and signs" class="help" onClose={onClose}>
      <div class="help-columns">
        {KEYS.map(([title, keys]) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {keys.map(([key, does]) => (
                <div key={key}>
                  <dt>
                    <kbd>{key}</kbd>
                  </dt>
                  <dd>{does}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
        <section>
          <h3>Beside every number: how it came to be</h3>
          <dl>
            {HOWS.map((how) => (
              <div key={how}>
                <dt>
                  <HowBadge how={how} />
                </dt>
                <dd>{howMeaning(how)}</dd>
              </div>
            ))}
          </dl>
        </section>
      </div>
      <p class="hint">
        Made with Preact, CodeMirror and uPlot (<a href="./licences.txt" target="_blank" rel="noreferrer">licences</a>); set in IBM Plex (
        <a href={plex} target="_blank" rel="noreferrer">
          licence
        </a>
        ).
      </p>
    </Dialog>
  );
}
