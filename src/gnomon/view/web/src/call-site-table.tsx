// Call sites with their times, each leading to its source.

import { baseName, formatNumber } from "./format";

export interface SiteRow {
  readonly name: string;
  /** The function that calls; "" where not known. */
  readonly caller: string;
  readonly file: string;
  readonly line: number;
  /** null: not known. */
  readonly calls: number | null;
}

interface Props<T extends SiteRow> {
  readonly sites: readonly T[];
  readonly timeOf: (site: T) => string;
  readonly onSource: (site: T) => void;
  readonly class?: string;
}

export function CallSiteTable<T extends SiteRow>({ sites, timeOf, onSource, class: more = "" }: Props<T>) {
  return (
    <table class={`plain ${more}`.trim()}>
      <thead>
        <tr>
          <th scope="col">call</th>
          <th scope="col">from</th>
          <th scope="col" class="number">time</th>
          <th scope="col" class="number">calls</th>
        </tr>
      </thead>
      <tbody>
        {sites.map((site, at) => (
          <tr key={at}>
            <td>{site.name}</td>
            <td>
              {site.file ? (
                <button type="button" class="link" title={`${site.caller} ${site.file}:${site.line}: show the source`} onClick={() => onSource(site)}>
                  {baseName(site.file)}:{site.line}
                </button>
              ) : (
                site.caller || <span class="dim">not known</span>
              )}
            </td>
            <td class="number">{timeOf(site)}</td>
            <td class="number">{site.calls === null ? "" : formatNumber(site.calls)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
