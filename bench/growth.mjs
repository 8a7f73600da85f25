import { writeFileSync } from 'node:fs';
import { rounded } from './api.mjs';
import { plot } from './plot.mjs';
import * as pushNoop from './push-noop.mjs';

export const about = 'push-noop at 100, 1,000, 3,000 and 10,000 nodes, and a plot of it in docs/ (--rounds)';
export const defaults = { rounds: 5 };

const SIZES = [100, 1000, 3000, 10_000];
const PLOT = new URL('../docs/performance-growth.svg', import.meta.url);

/** No worse than linear: ten thousand nodes take at most as long per node as a hundred. */
export async function* run(options) {
  const points = [];
  for (const nodes of SIZES) {
    for await (const line of pushNoop.run({ ...options, nodes })) {
      points.push({ nodes, ms: line.value, floor: line.floor });
      const linear = points.length === 1 ? null : rounded((points[0].ms / points[0].nodes) * nodes);
      yield { ...line, figure: 'growth', target: linear };
    }
  }
  const [first, last] = [points[0], points.at(-1)];
  writeFileSync(PLOT, plot(points));
  yield {
    figure: 'growth-per-node',
    value: rounded((last.ms / last.nodes) * 1000),
    unit: 'µs a node',
    target: rounded((first.ms / first.nodes) * 1000),
    floor: rounded((last.floor / last.nodes) * 1000),
    ratio: rounded(last.ms / last.floor),
    nodes: last.nodes,
  };
}
