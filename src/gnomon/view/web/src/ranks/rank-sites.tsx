// From where a rank calls MPI: its call sites, those with most time first, each with its source.

import { getSites } from "../api";
import { useLoaded } from "../api-cache";
import { CallSiteTable } from "../call-site-table";
import { formatQuantity, plural } from "../format";
import { navigate, setParams } from "../route";
import type { ViewProps } from "../view-props";

const LISTED = 30;

export function RankSites({ run, location }: ViewProps & { readonly location: number }) {
  const loaded = useLoaded(`${run.id}/sites/${location}`, () => getSites(run.id, location));
  const found = loaded.value;
  return (
    <div class="matrix-facts rank-sites">
      <h3>
        {found?.title ?? ""}
        <button type="button" class="quiet" title="the tree with the values of this rank alone" onClick={() => navigate("tree", { location })}>
          In the tree
        </button>
        <button type="button" class="quiet" onClick={() => setParams({ rank: null })}>
          Close
        </button>
      </h3>
      {loaded.error && <p class="dim">{loaded.error}</p>}
      {found && !loaded.error && (
        <>
          <p class="description">
            {formatQuantity(found.total, found.unit)} in calls of MPI from {plural(found.sites.length + found.more, "site")}
          </p>
          <CallSiteTable
            sites={found.sites.slice(0, LISTED)}
            timeOf={(site) => formatQuantity(site.value, found.unit)}
            onSource={(site) => navigate("tree", { location, file: site.file, line: site.line || null, node: null })}
          />
        </>
      )}
    </div>
  );
}
