// Text with commands in it: these are set as code, and options are not broken across lines.

export function InlineCode({ text }: { text: string }) {
  return (
    <>
      {text.split(/(`[^`]+`|--[\w-]+(?:[ =][\w-]+)?)/).map((part, at) => {
        if (part.startsWith("`")) return <code key={at}>{part.slice(1, -1)}</code>;
        if (part.startsWith("--")) {
          return (
            <span key={at} class="unbroken">
              {part}
            </span>
          );
        }
        return part;
      })}
    </>
  );
}
