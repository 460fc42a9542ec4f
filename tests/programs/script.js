// Work for all parts of a JavaScript engine: compiled code, objects and their collection, regular
// expressions, JSON, sorting, generators, exceptions.  script.js SECONDS
const until = process.cpuUsage().user + 1e6 * Number(process.argv[2]);
const words = Array.from({ length: 2000 }, (_, i) => `word${(i * 7919) % 2003} ${i}`);

class Pair {
	constructor(left, right) {
		this.left = left;
		this.right = right;
	}
	get size() {
		return 1 + (this.left ? this.left.size : 0) + (this.right ? this.right.size : 0);
	}
}

function tree(depth) {
	return depth ? new Pair(tree(depth - 1), tree(depth - 1)) : null;
}

function* numbers(n) {
	for (let i = 0; i < n; i++) yield i;
}

let total = 0;
while (process.cpuUsage().user < until) {
	total += tree(12).size;
	const text = JSON.stringify(words.map((word, i) => ({ word, i, more: [i, i + 1] })));
	total += JSON.parse(text, (_, value) => value).length;
	total += text.replace(/w(o)r(d\d+)/g, (_, a, b) => b + a).length;
	total += text.match(/"i":(\d+)/g).length;
	words.slice().sort((a, b) => (a < b ? -1 : 1));
	for (const [, i] of new Map(words.map((word, i) => [word, i]))) total += i;
	total += [...numbers(3000)].length;
	try {
		null.nothing;
	} catch (error) {
		total += error.stack.length;
	}
	eval(`total += ${total % 7}`);
}
console.log(total > 0);
