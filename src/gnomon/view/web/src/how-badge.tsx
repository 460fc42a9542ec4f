// The sign beside every number that says how it was obtained; it does not rely on colour.

interface Meaning {
  readonly sign: string;
  readonly text: string;
}

const MEANINGS: Readonly<Record<string, Meaning>> = {
  counted: { sign: "●", text: "counted: every event, by the hardware or the kernel" },
  scaled: { sign: "◐", text: "scaled: counted part of the time and extrapolated to all of it" },
  sampled: { sign: "◌", text: "sampled: a statistical share of samples" },
  emulated: { sign: "◇", text: "emulated: by an emulator of a processor, not by this one" },
  modelled: { sign: "△", text: "modelled: computed from a model of the machine" },
  estimated: { sign: "≈", text: "estimated: from other numbers and assumptions" },
};

export const HOWS = Object.keys(MEANINGS);

export function howMeaning(how: string): string {
  return MEANINGS[how]?.text ?? (how || "how it was measured is not known");
}

export function HowBadge({ how }: { how: string }) {
  return (
    <span class={`how how-${how || "unknown"}`} title={howMeaning(how)} aria-label={how}>
      {MEANINGS[how]?.sign ?? "·"}
    </span>
  );
}

/** The signs that are used on this screen, explained. */
export function HowLegend({ hows }: { hows: Iterable<string> }) {
  const present = new Set(hows);
  return (
    <span class="legend">
      {HOWS.filter((how) => present.has(how)).map((how) => (
        <span key={how} title={howMeaning(how)}>
          <HowBadge how={how} /> {how}
        </span>
      ))}
    </span>
  );
}

export function howSign(how: string): string {
  return MEANINGS[how]?.sign ?? "·";
}
