// What the page hands to the browser to be saved as a file.

/** A browser may begin to save after the click was handled. */
const KEPT_MS = 60_000;

export function saveFile(content: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name.replace(/[/\\]/g, "_");
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(link.href), KEPT_MS);
}

/** Saves lines of text; what a file name cannot have becomes "_". */
export function saveText(name: string, lines: readonly string[]): void {
  saveFile(new Blob([`${lines.join("\n")}\n`], { type: "text/plain" }), `${name.replace(/[^\w.]+/g, "_")}.txt`);
}
