// Runs the sums of doubles of vectors.json through Math.sumPrecise, in any engine that reads files as Node does.
// An empty sum is left out, since JavaScript's is -0.
//
// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";

if (!Math.sumPrecise) {
    console.error("this engine has no Math.sumPrecise");
    process.exit(2);
}
const view = new DataView(new ArrayBuffer(8));
const number = (bits) => (view.setBigUint64(0, BigInt("0x" + bits)), view.getFloat64(0));
let cases = 0, failures = 0;
for (const { about, operation, type, x, result } of JSON.parse(readFileSync(new URL("vectors.json", import.meta.url))).cases) {
    if (operation !== "sum" || type !== "f64" || x.length === 0)
        continue;
    const elements = x.flatMap((one) => {
        const [bits, times] = one.split("*");
        return Array(Number(times ?? 1)).fill(number(bits));
    });
    const sum = Math.sumPrecise(elements), right = result === "nan" ? NaN : number(result);
    cases++;
    if (!Object.is(sum, right) && ++failures)
        console.log(`${about}: ${sum} instead of ${right}: ${x}`);
}
console.log(`${cases} cases, ${failures} failures`);
process.exit(failures ? 1 : 0);
