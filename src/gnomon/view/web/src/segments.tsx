// A choice of one of a few, side by side.

export interface SegmentsProps<T extends string> {
  readonly label: string;
  /** Of each its name, title and hint. */
  readonly options: readonly (readonly [T, string, string])[];
  readonly chosen: T;
  readonly onChoose: (name: T) => void;
}

export function Segments<T extends string>({ label, options, chosen, onChoose }: SegmentsProps<T>) {
  return (
    <span class="segments" role="group" aria-label={label}>
      {options.map(([name, title, hint]) => (
        <button key={name} type="button" class={name === chosen ? "is-here" : ""} aria-pressed={name === chosen} title={hint} onClick={() => onChoose(name)}>
          {title}
        </button>
      ))}
    </span>
  );
}
