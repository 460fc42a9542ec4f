// Results that are kept while their view is away: as `useMemo`, for what one component at a time asks.

type Compute<T> = (make: () => T, inputs: readonly unknown[]) => T;

/** What gives the last result again for the same inputs. */
export function lastResult<T>(): Compute<T> {
  let last: { readonly inputs: readonly unknown[]; readonly value: T } | null = null;
  return (make, inputs) => {
    if (last === null || inputs.some((input, at) => !Object.is(input, last!.inputs[at]))) {
      last = { inputs, value: make() };
    }
    return last.value;
  };
}
