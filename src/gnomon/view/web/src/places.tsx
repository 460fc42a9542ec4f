// Where values come from: all places together, or one of them.

import type { Location } from "./api";
import { ask } from "./place";

const MOST = 2000;

interface Props {
  readonly locations: readonly Location[];
  readonly chosen: number | undefined;
}

export function LocationChoice({ locations, chosen }: Props) {
  const depth = new Map<number, number>();
  for (const one of locations) depth.set(one.location, one.parent < 0 ? 0 : (depth.get(one.parent) ?? 0) + 1);
  if (locations.length < 2) return null;
  return (
    <select
      class="location"
      value={chosen === undefined ? "" : String(chosen)}
      aria-label="place"
      title="values of all places, or of one rank, process, thread or core"
      onChange={(event) => ask({ location: event.currentTarget.value || null })}
    >
      <option value="">all places</option>
      {locations.slice(0, MOST).map((one) => (
        <option key={one.location} value={String(one.location)}>
          {"\u00a0\u00a0".repeat(depth.get(one.location) ?? 0) + one.title}
        </option>
      ))}
    </select>
  );
}
