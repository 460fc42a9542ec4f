// Texts that the page hands to the browser to be saved as files.

/** Saves lines of text; what a file name cannot have becomes "_". */
export function saveText(name: string, lines: readonly string[]): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([`${lines.join("\n")}\n`], { type: "text/plain" }));
  link.download = `${name.replace(/[^\w.]+/g, "_")}.txt`;
  link.click();
  URL.revokeObjectURL(link.href);
}
