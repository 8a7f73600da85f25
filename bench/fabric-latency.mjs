import { startFabric } from './fabric.mjs';
import { round2, sleep, startLoad, watch } from './fabric-driver.mjs';

export const about = 'milliseconds from the root to 100 subscribers below two relays, at half load (--seconds)';
export const defaults = { seconds: 20 };

const FANOUT = 100;
const SIZE = 200;
const WINDOW = 100_000;
const TARGET_P99 = 10;
const SHARES = { p50: 0.5, p99: 0.99, p999: 0.999 };
const SETTLE_MS = 2000;
/** With fewer, readers held up the publisher, and the latencies are not those of half the load. */
const LEAST_OF_RATE = 0.95;

/**
 * First as much as goes through, then half of it. Publisher and subscribers are one process with one clock. From root to
 * leaf is from when a subscriber of the root has an event. From publisher to leaf it is longer, as the root stores the
 * event first: the floor is what it takes to a subscriber of the root.
 */
export async function* run({ seconds, databaseUrl, profile }) {
  const fabric = await startFabric({ databaseUrl, profile });
  const load = startLoad();
  try {
    const upper = await fabric.relay(fabric.port);
    const leaf = await fabric.relay(upper.port);
    const pids = { root: fabric.server.pid, upper: upper.pid, leaf: leaf.pid, load: load.pid };
    const lanes = [{ selector: '', group: 0 }];
    const clients = Array.from({ length: FANOUT }, () => ({ port: leaf.port, lanes, watch: 'leaf' }));
    clients.unshift({ port: fabric.port, lanes, watch: 'root' });
    await load.tell('prepare', {
      protocol: 'stomp',
      credentials: fabric.credentials,
      size: SIZE,
      groups: [{ attributes: { type: 'bench.x' }, fanout: clients.length }],
      publish: fabric.port,
      clients,
    });
    await load.tell('flood', { window: WINDOW });
    await sleep(SETTLE_MS);
    const full = await watch([load], pids, 5000);
    await load.tell('settle');
    const rate = Math.round(full.events / 2);
    await load.tell('pace', { rate });
    await sleep(SETTLE_MS);
    await load.tell('forget');
    fabric.profile();
    const half = await watch([load], pids, seconds * 1000);
    fabric.profile();
    const found = await load.tell('latencies', { shares: Object.values(SHARES) });
    await load.tell('settle');
    if (half.events < LEAST_OF_RATE * rate) {
      const error = `of ${rate} events a second, half of what had gone through, only ${Math.round(half.events)} did`;
      yield { figure: 'fabric-latency', error };
      return;
    }
    const details = { fanout: FANOUT, events: Math.round(half.events), deliveries: Math.round(half.deliveries) };
    for (const [n, name] of Object.keys(SHARES).entries()) {
      const common = { unit: 'ms', target: name === 'p99' ? TARGET_P99 : null };
      const between = { value: round2(found.between[n]), ...common, floor: null, ratio: null };
      yield { figure: `fabric-latency-${name}`, ...between, ...details, full_load: Math.round(full.deliveries) };
      const [value, floor] = [round2(found.leaf[n]), round2(found.root[n])];
      const published = { value, unit: 'ms', target: null, floor, ratio: round2(value / floor) };
      yield { figure: `fabric-latency-published-${name}`, ...published, ...details, cores: half.cores };
    }
  } finally {
    await load.stop();
    await fabric.stop();
  }
}
