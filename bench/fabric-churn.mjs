import { selectorOf, subscriptionsOf } from './emulab.mjs';
import { startFabric } from './fabric.mjs';
import { round2, sleep, startLoad } from './fabric-driver.mjs';
import { cpuSeconds } from './proc.mjs';
import { median, until } from './server.mjs';

export const about =
  'subscribing and unsubscribing again on a relay with the subscriptions of N nodes (--nodes, --connections)';
export const defaults = { nodes: 10_000, connections: 100, rounds: 5, seconds: 10 };

const TARGET = 50_000;
const WARM_UP_MS = 1000;

/** Over sockets: every UNSUBSCRIBE and SUBSCRIBE is a frame, the selector is parsed, and a receipt confirms them. */
export async function* run({ nodes, connections, rounds, seconds, databaseUrl, profile }) {
  const fabric = await startFabric({ databaseUrl, profile });
  const load = startLoad();
  try {
    const relay = await fabric.relay(fabric.port);
    const selectors = subscriptionsOf(nodes).map(selectorOf);
    const each = Math.ceil(selectors.length / connections);
    await load.tell('subscribeAll', {
      port: relay.port,
      credentials: fabric.credentials,
      connections: Array.from({ length: connections }, (_, n) => selectors.slice(n * each, (n + 1) * each)),
    });
    await complete(relay, selectors.length);
    await load.tell('churn');
    await sleep(WARM_UP_MS);
    const samples = [];
    fabric.profile();
    for (let round = 0; round < rounds; round += 1) samples.push(await pairs(load, relay, (seconds * 1000) / rounds));
    fabric.profile();
    await load.tell('rest');
    await complete(relay, selectors.length);
    const value = 2 * median(samples.map(({ rate }) => rate));
    yield {
      figure: 'fabric-churn',
      value: Math.round(value),
      unit: 'subscribes and unsubscribes a second',
      target: TARGET,
      floor: null,
      ratio: null,
      subscriptions: selectors.length,
      connections,
      pairs: Math.round(value / 2),
      pairs_a_core: Math.round(median(samples.map(({ rate, cores }) => rate / cores))),
      relay_cores: round2(median(samples.map(({ cores }) => cores))),
      samples: samples.map(({ rate }) => Math.round(2 * rate)),
    };
  } finally {
    await load.stop();
    await fabric.stop();
  }
}

async function pairs(load, { pid }, milliseconds) {
  const [before, cpu] = [await load.tell('churned'), cpuSeconds(pid)];
  await sleep(milliseconds);
  const [after, used] = [await load.tell('churned'), cpuSeconds(pid) - cpu];
  const seconds = (after.atMs - before.atMs) / 1000;
  return { rate: (after.pairs - before.pairs) / seconds, cores: used / seconds };
}

/** None is missing or there twice. */
function complete(relay, count) {
  return until(`${count} subscriptions`, async () => (await relay.status()).subscriptions === count);
}
