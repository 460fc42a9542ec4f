// Settings of the reader, kept in this browser's storage where that is allowed.

/** A setting of this reader, or `otherwise` where none is saved. */
export function loadPreference(key: string, otherwise: string): string {
  try {
    return localStorage.getItem(`gnomon.${key}`) ?? otherwise;
  } catch {
    return otherwise;
  }
}

export function savePreference(key: string, value: string): void {
  try {
    localStorage.setItem(`gnomon.${key}`, value);
  } catch {
    // A browser that keeps nothing still shows everything.
  }
}
