import { rounded } from './api.mjs';
import { startFabric } from './fabric.mjs';
import { round2, sleep, startLoad, watch } from './fabric-driver.mjs';
import { startNats } from './nats.mjs';
import { median } from './server.mjs';

export const about =
  'deliveries/s at a fan-out of 100, by the root and through a relay, beside NATS (--rounds, --seconds)';
export const defaults = { rounds: 5, seconds: 5 };

const FANOUT = 100;
const SIZES = [200, 600];
const TARGET_RATIO = 1;
/** Of events on the way to all subscribers together: more, and the slowest of them may be cut. */
const WINDOW_BYTES = 60_000_000;

/** How a load generator says that a server has cut one of its connections. */
const CUT = /slow|closed|ECONNRESET|EPIPE/i;
const MOST_HALVED = 5;

/** The relay is where publisher and subscribers are: events go up to the root, which stores them, and come down again. */
export async function* run({ rounds, seconds, databaseUrl, profile }) {
  const fabric = await startFabric({ databaseUrl, profile });
  const peer = await startNats();
  try {
    const relay = await fabric.relay(fabric.port);
    const { credentials, server } = fabric;
    const pids = { root: server.pid, relay: relay.pid };
    for (const size of SIZES) {
      const [through, direct, beside] = [[], [], []];
      for (let round = 0; round < rounds; round += 1) {
        fabric.profile();
        through.push(await fan({ name: 'stomp', port: relay.port, credentials, size, seconds, pids }));
        fabric.profile();
        direct.push(await fan({ name: 'stomp', port: fabric.port, credentials, size, seconds, pids }));
        if (peer === null) continue;
        beside.push(await fan({ name: 'nats', port: peer.port, credentials, size, seconds, pids: { nats: peer.pid } }));
      }
      yield figure(`fabric-fanout-${size}`, through, beside, { fanout: FANOUT, size });
      yield figure(`fabric-fanout-${size}-root`, direct, beside, { fanout: FANOUT, size });
    }
  } finally {
    await peer?.stop();
    await fabric.stop();
  }
}

/**
 * Publisher and subscribers are in one process, so that no more is on the way than servers keep for slow clients. Where
 * one is cut all the same, as on a machine that stands still now and then, it is done again with half as much on the way.
 */
export async function fan(options) {
  let { window = Math.floor(WINDOW_BYTES / options.size) } = options;
  for (let halved = 0; ; halved += 1) {
    try {
      return { ...(await fanOnce({ ...options, window })), halved };
    } catch (error) {
      if (!CUT.test(error.message) || halved === MOST_HALVED) throw error;
      window = Math.ceil(window / 2);
      console.error(`${error.message.replace(/\s+/g, ' ')}: once more, with ${window} deliveries on the way`);
    }
  }
}

/** @param ports Of one server, or of several: the publisher is at the first, subscribers are at all. */
async function fanOnce({ name, port, credentials, size, seconds, pids, window, ...options }) {
  const { fanout = FANOUT, selector = '', attributes = {}, ports = [port] } = options;
  const load = startLoad();
  try {
    await load.tell('prepare', {
      protocol: name,
      credentials,
      size,
      groups: [{ attributes: { type: 'bench.x', ...attributes }, fanout }],
      publish: ports[0],
      clients: Array.from({ length: fanout }, (_, n) => ({
        port: ports[n % ports.length],
        lanes: [{ selector, group: 0 }],
      })),
    });
    await load.tell('flood', { window });
    await sleep(1000);
    const rates = await watch([load], { ...pids, load: load.pid }, seconds * 1000);
    await load.tell('settle');
    return rates;
  } finally {
    await load.stop();
  }
}

export function figure(name, rounds, peers, details, targetRatio = TARGET_RATIO) {
  const samples = rounds.map(({ deliveries }) => Math.round(deliveries));
  const peerSamples = peers.map(({ deliveries }) => Math.round(deliveries));
  const value = median(samples);
  const peer = peers.length === 0 ? null : median(peerSamples);
  return {
    figure: name,
    value: rounded(value),
    unit: 'deliveries/s',
    target: peer === null ? null : Math.round(peer * targetRatio),
    ...(peer === null ? { floor: null, ratio: null } : { peer: rounded(peer), ratio: round2(value / peer) }),
    ...details,
    samples,
    cores: rounds.map(({ cores }) => cores),
    ...(rounds.some(({ halved }) => halved > 0) && { window_halved: rounds.map(({ halved }) => halved) }),
    ...(peer === null ? {} : { peer_samples: peerSamples, peer_cores: peers.map(({ cores }) => cores) }),
  };
}
