// What can be chosen of a picture: its kind, metric, places, colours, what is searched and hidden.

import type { ComponentChildren } from "preact";

import { InlinedChoice } from "../inlined-choice";
import { LocationPicker } from "../location-picker";
import { Menu } from "../menu";
import { setParams } from "../route";
import { saveFile } from "../saved-file";
import { SearchBox } from "../search-box";
import type { ViewProps } from "../view-props";
import type { CanvasHandle } from "./flame-canvas";
import {
  pictureMetrics,
  setFilters,
  STATES,
  type ChosenMetrics,
  type Picture,
  type PictureState,
  type Split,
} from "./picture-state";

const PICTURE_NAMES: Readonly<Record<Picture, readonly [string, string]>> = {
  flame: ["Flame graph", "callers below, what they call above them"],
  icicle: ["Icicle", "callers above, what they call below them"],
  time: ["Time order", "what each thread did from the beginning to the end"],
  sandwich: ["Sandwich", "one function between all that call it and all that it calls"],
};
const SPLIT_NAMES: Readonly<Record<Split, string>> = {
  together: "all together",
  process: "each process",
  thread: "each thread",
};
const STATE_NAMES = { running: "Running", waiting: "Waiting", both: "Both" } as const;

interface Props extends ViewProps {
  readonly state: PictureState;
  readonly chosen: ChosenMetrics;
  readonly splits: readonly Split[];
  readonly pictures: readonly Picture[];
  readonly searchError: string;
  readonly searchNote: string;
  readonly onSearched: () => void;
  readonly onLeave: () => void;
  readonly children: ComponentChildren;
}

/** What is drawn has other frames: those that were chosen before are none of them. */
const OTHER_FRAMES = { frame: null, zoom: null, panel: null };

export function PictureTools(props: Props) {
  const { state, chosen, metrics } = props;
  const offered = pictureMetrics(metrics).filter((one) => one !== chosen.waiting);
  return (
    <>
      <div class="tools">
        <span class="segments" role="group" aria-label="picture">
          {props.pictures.map((name) => (
            <button
              key={name}
              type="button"
              class={name === state.picture ? "is-here" : ""}
              aria-pressed={name === state.picture}
              title={PICTURE_NAMES[name][1]}
              onClick={() => setParams({ picture: name === "flame" ? null : name, ...OTHER_FRAMES })}
            >
              {PICTURE_NAMES[name][0]}
            </button>
          ))}
        </span>
        {offered.length > 1 ? (
          <select
            value={chosen.metric.name}
            aria-label="metric"
            title="the metric that widths are"
            onChange={(event) => setParams({ metric: event.currentTarget.value })}
          >
            {offered.map((metric) => (
              <option key={metric.metric}>{metric.name}</option>
            ))}
          </select>
        ) : (
          <span class="note">{chosen.metric.name}</span>
        )}
        {chosen.running && (
          <span class="segments" role="group" aria-label="running or waiting">
            {STATES.map((name) => (
              <button
                key={name}
                type="button"
                class={name === state.state ? "is-here" : ""}
                aria-pressed={name === state.state}
                title={
                  { running: "CPU time", waiting: "time in which threads waited", both: "CPU time and waiting time: all the time of threads" }[name]
                }
                onClick={() => setParams({ state: name === "running" ? null : name })}
              >
                {STATE_NAMES[name]}
              </button>
            ))}
          </span>
        )}
        <LocationPicker locations={props.locations} chosen={state.location} />
        {props.splits.length > 1 && state.picture !== "sandwich" && state.picture !== "time" && (
          <select
            value={state.split}
            aria-label="places"
            title="one picture of all, or one of each side by side"
            onChange={(event) => setParams({ split: event.currentTarget.value, ...OTHER_FRAMES })}
          >
            {props.splits.map((name) => (
              <option key={name} value={name}>
                {SPLIT_NAMES[name]}
              </option>
            ))}
          </select>
        )}
        {state.picture !== "time" && (
          <select
            value={state.order}
            aria-label="order"
            title="the order of frames beside each other"
            onChange={(event) => setParams({ siblings: event.currentTarget.value === "name" ? "name" : null })}
          >
            <option value="value">largest first</option>
            <option value="name">by name</option>
          </select>
        )}
        <InlinedChoice run={props.run} />
      </div>
      <div class="tools">
        <SearchBox
          value={state.search}
          placeholder="search: name, module:x, >1%"
          label="search"
          hint={props.searchError || "? lists what can be written here"}
          isWrong={props.searchError !== ""}
          onInput={(text) => setParams({ q: text || null })}
          onEnter={props.onSearched}
          onLeave={props.onLeave}
        />
        <span class="note" role="status">
          {props.searchError || props.searchNote}
        </span>
        <span class="tools-rest" />
        <FilterMenu state={state} />
        <select
          value={state.colouring}
          aria-label="colours"
          title="what colours mean"
          onChange={(event) => setParams({ colour: event.currentTarget.value })}
        >
          <option value="module">colour: module</option>
          <option value="language">colour: language</option>
          {props.baseline && <option value="difference">colour: difference</option>}
        </select>
        {props.children}
      </div>
    </>
  );
}

function FilterMenu({ state }: { state: PictureState }) {
  return (
    <Menu label="Hide, fold" hint="leave frames out, or put them together">
      {(close) => (
        <>
          <FilterInput
            label="hide frames that match, and all that they call"
            onEnter={(text) => {
              close();
              setFilters("hide", [...state.hide, text]);
            }}
          />
          <FilterInput
            label="fold frames that match and call each other"
            onEnter={(text) => {
              close();
              setFilters("fold", [...state.fold, text]);
            }}
          />
        </>
      )}
    </Menu>
  );
}

function FilterInput({ label, onEnter }: { label: string; onEnter: (text: string) => void }) {
  return (
    <label class="flame-filter">
      {label}
      <input
        type="text"
        placeholder="module:libm, /^std::/, name"
        onKeyDown={(event) => {
          const text = event.currentTarget.value.trim();
          if (event.key === "Enter" && text) onEnter(text);
        }}
      />
    </label>
  );
}

/** What is hidden and folded, each with a button that takes it back. */
export function FilterChips({ state, hidden }: { state: PictureState; hidden: string }) {
  const chips = (["hide", "fold"] as const).flatMap((param) => state[param].map((filter) => ({ param, filter })));
  return (
    <div class="tools flame-chips">
      {chips.map(({ param, filter }) => (
        <button
          key={`${param} ${filter}`}
          type="button"
          class="quiet"
          title="take it back"
          onClick={() => setFilters(param, state[param].filter((one) => one !== filter))}
        >
          {param === "hide" ? "hidden" : "folded"}: {filterLabel(filter)} <span aria-hidden="true">✕</span>
        </button>
      ))}
      {state.hide.length > 0 && <span class="note">{hidden}</span>}
    </div>
  );
}

/** A filter as people read it: without the marks of a pattern that matches all of a name. */
function filterLabel(filter: string): string {
  const exact = /^(?:module:)?\/\^(.*)\$\/$/.exec(filter);
  return exact ? exact[1]!.replace(/\\(.)/g, "$1") : filter;
}

export function SaveMenu({ name, handle }: { name: string; handle: { current: CanvasHandle | null } }) {
  return (
    <Menu label="Save">
      {(close) => (
        <>
          <button
            type="button"
            class="item"
            onClick={() => {
              close();
              const text = handle.current?.svg(name);
              if (text) saveFile(new Blob([text], { type: "image/svg+xml" }), `${name}.svg`);
            }}
          >
            as SVG
          </button>
          <button
            type="button"
            class="item"
            onClick={() => {
              close();
              void handle.current?.png().then((blob) => blob && saveFile(blob, `${name}.png`));
            }}
          >
            as PNG
          </button>
        </>
      )}
    </Menu>
  );
}
