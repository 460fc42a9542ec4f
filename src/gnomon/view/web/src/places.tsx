// Where values come from: all places together, or one of them.

import { useMemo } from "preact/hooks";

import type { Location } from "./api";
import { ask } from "./place";

const MOST = 2000;

/** Places that are not what they are in: a rank and its only process are one. */
function distinct(locations: readonly Location[]): Location[] {
  const titles = new Map(locations.map((one) => [one.location, one.title]));
  return locations.filter((one) => titles.get(one.parent) !== one.title);
}

/** Titles of places; what has the same (an execution after another) is numbered. */
export function titlesOf(locations: readonly Location[]): Map<number, string> {
  const times = new Map<string, number>();
  for (const { title } of distinct(locations)) times.set(title, (times.get(title) ?? 0) + 1);
  const seen = new Map<string, number>();
  const found = new Map<number, string>();
  for (const { location, title } of distinct(locations)) {
    const nth = (seen.get(title) ?? 0) + 1;
    seen.set(title, nth);
    found.set(location, times.get(title)! > 1 ? `${title} (${nth})` : title);
  }
  for (const { location, parent, title } of locations) {
    if (!found.has(location)) found.set(location, found.get(parent) ?? title);
  }
  return found;
}

interface Props {
  readonly locations: readonly Location[];
  readonly chosen: number | undefined;
}

export function LocationChoice({ locations, chosen }: Props) {
  // Thousands of places are thousands of options: made once, not with every key.
  return useMemo(() => {
    if (locations.length < 2) return null;
    const depth = new Map<number, number>();
    for (const one of locations) {
      const above = one.parent < 0 ? -1 : (depth.get(one.parent) ?? 0);
      depth.set(one.location, above + 1);
    }
    const titles = titlesOf(locations);
    const shown = distinct(locations);
    return (
      <select
        class="location"
        value={chosen === undefined ? "" : String(chosen)}
        aria-label="place"
        title="values of all places, or of one rank, process, thread or core"
        onChange={(event) => ask({ location: event.currentTarget.value || null })}
      >
        <option value="">all places</option>
        {shown.slice(0, MOST).map((one) => (
          <option key={one.location} value={String(one.location)}>
            {"\u00a0\u00a0".repeat(depth.get(one.location) ?? 0) + titles.get(one.location)}
          </option>
        ))}
        {shown.length > MOST && <option disabled>{shown.length - MOST} more: see Metrics</option>}
      </select>
    );
  }, [locations, chosen]);
}
