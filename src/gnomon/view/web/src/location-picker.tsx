// Selects the location whose values are shown: one, or all together.

import { useMemo } from "preact/hooks";

import type { Location } from "./api";
import { setParams } from "./route";

const OPTIONS_MOST = 2000;

/** Locations without those that only repeat their parent: a rank and its only process are one. */
function distinctLocations(locations: readonly Location[]): Location[] {
  const titles = new Map(locations.map((one) => [one.location, one.title]));
  return locations.filter((one) => titles.get(one.parent) !== one.title);
}

/** Titles of locations; equal ones (repetitions of a program) are numbered. */
export function locationTitles(locations: readonly Location[]): Map<number, string> {
  const times = new Map<string, number>();
  for (const { title } of distinctLocations(locations)) times.set(title, (times.get(title) ?? 0) + 1);
  const seen = new Map<string, number>();
  const titles = new Map<number, string>();
  for (const { location, title } of distinctLocations(locations)) {
    const nth = (seen.get(title) ?? 0) + 1;
    seen.set(title, nth);
    titles.set(location, times.get(title)! > 1 ? `${title} (${nth})` : title);
  }
  for (const { location, parent, title } of locations) {
    if (!titles.has(location)) titles.set(location, titles.get(parent) ?? title);
  }
  return titles;
}

interface Props {
  readonly locations: readonly Location[];
  readonly chosen: number | undefined;
}

export function LocationPicker({ locations, chosen }: Props) {
  // Thousands of places are thousands of options: made once, not with every key.
  return useMemo(() => {
    if (locations.length < 2) return null;
    const depth = new Map<number, number>();
    for (const one of locations) {
      const above = one.parent < 0 ? -1 : (depth.get(one.parent) ?? 0);
      depth.set(one.location, above + 1);
    }
    const titles = locationTitles(locations);
    const shown = distinctLocations(locations);
    return (
      <select
        class="location"
        value={chosen === undefined ? "" : String(chosen)}
        aria-label="location"
        title="values of all locations, or of one rank, process, thread or core"
        onChange={(event) => setParams({ location: event.currentTarget.value || null })}
      >
        <option value="">all locations</option>
        {shown.slice(0, OPTIONS_MOST).map((one) => (
          <option key={one.location} value={String(one.location)}>
            {"\u00a0\u00a0".repeat(depth.get(one.location) ?? 0) + titles.get(one.location)}
          </option>
        ))}
        {shown.length > OPTIONS_MOST && <option disabled>{shown.length - OPTIONS_MOST} more: see Metrics</option>}
      </select>
    );
  }, [locations, chosen]);
}
