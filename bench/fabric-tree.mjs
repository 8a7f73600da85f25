import { NODES_IN_EXPERIMENT, PROGRAMS, selectorOf, subscriptionsOf } from './emulab.mjs';
import { startFabric } from './fabric.mjs';
import { round2, sleep, startLoad, watch } from './fabric-driver.mjs';
import { median } from './server.mjs';

export const about =
  'deliveries/s of a root and relays to the subscriptions of N nodes, 10 each (--nodes, --connections, --relays, --workers)';
export const defaults = { nodes: 10_000, connections: 10_000, relays: 2, workers: 1, rounds: 3, seconds: 10 };

const SIZE = 200;
const EVENTS_A_SECOND = 10;
const WARM_UP_MS = 3000;
/** Deliveries on the way, all together. */
const WINDOW = 400_000;

/**
 * Every event is for one program of all nodes of an experiment: 100 subscriptions, which differ in their host. They are
 * on as many connections as told, so evenly that no two of one event share one, if there are enough.
 */
export async function* run({ nodes, connections, relays: count, workers, rounds, seconds, databaseUrl, profile }) {
  const fabric = await startFabric({ databaseUrl, profile });
  const loads = Array.from({ length: count * workers }, startLoad);
  try {
    const relays = [];
    for (let n = 0; n < count; n += 1) {
      relays.push(await fabric.relay(fabric.port, workers > 1 ? ['--workers', String(workers)] : []));
    }
    const { credentials } = fabric;
    const parts = partsOf(nodes, connections, loads.length);
    await Promise.all(
      loads.map((load, n) => {
        const { port } = relays[n % relays.length];
        const { groups, clients } = parts[n];
        const placed = clients.map((lanes) => ({ port, lanes }));
        const options = { protocol: 'stomp', credentials, size: SIZE, groups, publish: fabric.port, clients: placed };
        return load.tell('prepare', options);
      }),
    );
    for (const load of loads) await load.tell('flood', { window: Math.ceil(WINDOW / loads.length) });
    await sleep(WARM_UP_MS);
    const pids = { root: fabric.server.pid, relays: relays.flatMap((relay) => relay.pids) };
    pids.loads = loads.map(({ pid }) => pid);
    const samples = [];
    fabric.profile();
    for (let round = 0; round < rounds; round += 1) samples.push(await watch(loads, pids, (seconds * 1000) / rounds));
    fabric.profile();
    for (const load of loads) await load.tell('settle');
    yield figure(samples, { nodes, connections, relays: count, workers });
  } finally {
    await Promise.all(loads.map((load) => load.stop()));
    await fabric.stop();
  }
}

function figure(rounds, { nodes, ...shape }) {
  const subscriptions = nodes * PROGRAMS;
  const target = subscriptions * EVENTS_A_SECOND;
  const value = median(rounds.map(({ deliveries }) => deliveries));
  const of = (name) => median(rounds.map(({ cores }) => cores[name]));
  // Each event costs the root once; what it costs the relays grows with the deliveries.
  const needed = ((of('root') + of('relays')) * target) / value;
  return {
    figure: 'fabric-tree',
    value: Math.round(value),
    unit: 'deliveries/s',
    target,
    floor: null,
    ratio: null,
    subscriptions,
    ...shape,
    events: Math.round(median(rounds.map(({ events }) => events))),
    root_cores: of('root'),
    relay_cores: of('relays'),
    load_cores: of('loads'),
    cores_for_target: round2(needed),
    samples: rounds.map(({ deliveries }) => Math.round(deliveries)),
  };
}

/** Of each load generator: the groups that it publishes to, and its clients: {selector, group} of each subscription. */
export function partsOf(nodes, connections, loads) {
  const experiments = Math.ceil(nodes / NODES_IN_EXPERIMENT);
  const parts = Array.from({ length: loads }, () => ({
    groups: [],
    clients: Array.from({ length: Math.floor(connections / loads) }, () => []),
    nodes: 0,
  }));
  for (let experiment = 0; experiment < experiments; experiment += 1) {
    const { groups } = parts[experiment % loads];
    const members = Math.min(NODES_IN_EXPERIMENT, nodes - experiment * NODES_IN_EXPERIMENT);
    for (let program = 0; program < PROGRAMS; program += 1) {
      groups.push({ attributes: attributesOf(experiment, program), fanout: members });
    }
  }
  for (const [n, subscription] of subscriptionsOf(nodes).entries()) {
    const node = Math.floor(n / PROGRAMS);
    const experiment = Math.floor(node / NODES_IN_EXPERIMENT);
    const part = parts[experiment % loads];
    if (n % PROGRAMS === 0) part.nodes += 1;
    const client = part.clients[(part.nodes - 1) % part.clients.length];
    const group = Math.floor(experiment / loads) * PROGRAMS + (n % PROGRAMS);
    client.push({ selector: selectorOf(subscription), group });
  }
  return parts.map(({ groups, clients }) => ({ groups, clients: clients.filter((lanes) => lanes.length > 0) }));
}

function attributesOf(experiment, program) {
  const where = { EXPT: `pid/eid${experiment}`, HOST: '*', OBJNAME: `prog${program}` };
  return { type: 'bench.x', ...where, EVENTTYPE: 'START', SCHEDULER: '0' };
}
