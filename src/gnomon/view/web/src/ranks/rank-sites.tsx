// From where a rank calls MPI: its call sites, those with most time first, each with its source.

import { getSites } from "../api";
import { useLoaded } from "../api-cache";
import { baseName, formatNumber, formatQuantity, plural } from "../format";
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
          <table class="plain">
            <thead>
              <tr>
                <th scope="col">call</th>
                <th scope="col">from</th>
                <th scope="col" class="number">time</th>
                <th scope="col" class="number">calls</th>
              </tr>
            </thead>
            <tbody>
              {found.sites.slice(0, LISTED).map((site, at) => (
                <tr key={at}>
                  <td>{site.name}</td>
                  <td>
                    {site.file ? (
                      <button
                        type="button"
                        class="link"
                        title={`${site.caller} ${site.file}:${site.line}: show the source`}
                        onClick={() => navigate("tree", { location, file: site.file, line: site.line || null, node: null })}
                      >
                        {baseName(site.file)}:{site.line}
                      </button>
                    ) : (
                      site.caller || <span class="dim">not known</span>
                    )}
                  </td>
                  <td class="number">{formatQuantity(site.value, found.unit)}</td>
                  <td class="number">{site.calls === null ? "" : formatNumber(site.calls)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </>
      )}
    </div>
  );
}
