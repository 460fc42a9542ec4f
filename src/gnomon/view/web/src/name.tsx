// Names whose less telling part gives way first where there is no room.

/** Where the part begins that tells most: behind a module or namespace, or a file before its line. */
function telling(name: string): number {
  if (/^[^:]+:\d+$/.test(name)) return name.lastIndexOf(":");
  const end = name.search(/[(<]/);
  const at = (end < 0 ? name : name.slice(0, end)).lastIndexOf("::");
  return at < 0 ? 0 : at + 2;
}

export function Name({ name }: { name: string }) {
  const at = telling(name);
  if (at === 0) return <>{name}</>;
  return (
    <span class="scoped">
      <span class="scope">{name.slice(0, at)}</span>
      <span class="own">{name.slice(at)}</span>
    </span>
  );
}
