// Whom code that the compiler inlined is charged to, for all views of a run's values.

import type { Run } from "./api";
import { setParams, useRoute } from "./route";

const CALLER = "caller";

/** The number under which the server has a run as it is to be shown. */
export function chargedId(id: string, params: Readonly<Record<string, string>>): string {
  return params["inlined"] === CALLER ? `${id}.${CALLER}` : id;
}

export function InlinedChoice({ run }: { run: Run }) {
  const { params } = useRoute();
  if (!run.hasInlined) return null;
  return (
    <select
      value={params["inlined"] === CALLER ? CALLER : ""}
      title="what inlined code took: of the inlined function, at its own line; or of the function that calls it, at the line of the call"
      aria-label="inlined code"
      onChange={(event) => setParams({ inlined: event.currentTarget.value || null, node: null, of: null })}
    >
      <option value="">inlined: origin</option>
      <option value={CALLER}>inlined: caller</option>
    </select>
  );
}
