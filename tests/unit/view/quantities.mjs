// Reads pairs of a value and a unit as JSON from standard input, prints what the page shows of each.
import { readFileSync } from "node:fs";
import { formatQuantity } from "../../../src/gnomon/view/web/src/format.ts";

const pairs = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(pairs.map(([value, unit]) => formatQuantity(value, unit))));
