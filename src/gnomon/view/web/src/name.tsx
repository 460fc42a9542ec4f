// Names whose less telling part gives way first where there is no room.

import { isLine, partsOf, tidy } from "./symbol";

export function Name({ name }: { name: string }) {
  const { begin, own } = partsOf(name);
  if (own === begin) return <>{name.slice(begin)}</>;
  const scope = name.slice(begin, own);
  return (
    <span class="scoped">
      {isLine(name) ? <span class="scope">{scope}</span> : <Scope text={scope} />}
      <span class="own">{name.slice(own)}</span>
    </span>
  );
}

/** Less than this is not worth a cut. */
const SHORT = 4;

/** A namespace or folder: its end is what stays where there is no room. */
function Scope({ text }: { text: string }) {
  if (text.length <= SHORT) return <span>{text}</span>;
  return (
    <span class="scope is-end">
      <bdi dir="ltr">{text}</bdi>
    </span>
  );
}

/** A file: its last name stays. */
export function Path({ path }: { path: string }) {
  return <Name name={tidy(path)} />;
}
