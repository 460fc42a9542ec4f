// Builds the page so that each of its functions says what it gets and gives.
//
//     node page_build.mjs WEB OUT
//
// WEB is the folder of the page's sources, OUT the one to build into. The functions call
// globalThis.gnomonWalk(file, function, value), which returns the value.
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [web, out] = process.argv.slice(2);
const vite = await import(pathToFileURL(createRequire(path.join(web, "package.json")).resolve("vite")).href);

function nameOf(node, parents) {
  if (node.id?.name) return node.id.name;
  for (const parent of parents.toReversed()) {
    const id = parent.id?.name ?? (parent.type.endsWith("Definition") || parent.type === "Property" ? parent.key?.name : "");
    if (id) return id;
  }
  return "anonymous";
}

function insertions(program, file) {
  const found = [];
  const call = (name) => `gnomonWalk(${JSON.stringify(file)},${JSON.stringify(name)},`;
  function walk(node, parents, name) {
    if (!node || typeof node.type !== "string") return;
    let inside = name;
    if (/Function/.test(node.type) && node.body) {
      inside = node.generator ? "" : nameOf(node, parents);
      if (inside && node.body.type !== "BlockStatement")
        found.push([node.body.start, call(inside) + "("], [node.body.end, "))"]);
    }
    if (node.type === "ReturnStatement" && node.argument && inside)
      found.push([node.argument.start, call(inside) + "("], [node.argument.end, "))"]);
    for (const [key, child] of Object.entries(node)) {
      if (key === "type" || key === "start" || key === "end") continue;
      for (const one of Array.isArray(child) ? child : [child])
        if (one && typeof one === "object") walk(one, [...parents, node], inside);
    }
  }
  walk(program, [], "");
  return found;
}

const plugin = {
  name: "gnomon-walks",
  enforce: "post",
  transform(code, id) {
    const file = path.relative(path.join(web, "src"), id.split("?")[0]);
    if (file.startsWith("..") || !/\.tsx?$/.test(file)) return null;
    const found = insertions(vite.parseAst(code), `src/gnomon/view/web/src/${file}`);
    let text = code;
    found
      .map((one, number) => [...one, number])
      .sort((a, b) => b[0] - a[0] || (a[1] === "))" ? -1 : 1))
      .forEach(([at, what]) => (text = text.slice(0, at) + what + text.slice(at)));
    return { code: text, map: null };
  },
};

await vite.build({ root: web, plugins: [plugin], logLevel: "error", build: { outDir: out, emptyOutDir: true, minify: false } });
