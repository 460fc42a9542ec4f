// Names whose scope is shortened first where there is no room.

import { isFileLine, splitName, normalizePath } from "./name-parts";

export function SymbolName({ name }: { name: string }) {
  const { begin, own } = splitName(name);
  if (own === begin) return <>{name.slice(begin)}</>;
  const scope = name.slice(begin, own);
  return (
    <span class="scoped">
      {isFileLine(name) ? <span class="scope">{scope}</span> : <Scope text={scope} />}
      <span class="own">{name.slice(own)}</span>
    </span>
  );
}

/** Scopes of up to this length are never shortened. */
const SHORT = 4;

/** A namespace or directory: its end stays where there is no room. */
function Scope({ text }: { text: string }) {
  if (text.length <= SHORT) return <span>{text}</span>;
  return (
    <span class="scope is-end">
      <bdi dir="ltr">{text}</bdi>
    </span>
  );
}

/** A path: its last part stays where there is no room. */
export function FilePath({ path }: { path: string }) {
  return <SymbolName name={normalizePath(path)} />;
}
