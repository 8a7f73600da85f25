import { startFabric } from './fabric.mjs';
import { fan, figure } from './fabric-fanout.mjs';
import { startNats } from './nats.mjs';

export const about = 'one publisher to one subscriber, by content, beside NATS, by subject (--rounds, --seconds)';
export const defaults = { rounds: 5, seconds: 5 };

const SIZE = 200;
const TARGET_RATIO = 0.25;
/** Deliveries on the way. */
const WINDOW = 20_000;
const EVENT = { EXPT: 'pid/eid7', HOST: '10.0.0.7', OBJNAME: 'prog3', EVENTTYPE: 'START' };
const SELECTOR = "EXPT = 'pid/eid7' AND OBJNAME = 'prog3' AND EVENTTYPE IN ('RUN', 'START', 'STOP')";

export async function* run({ rounds, seconds, databaseUrl, profile }) {
  const fabric = await startFabric({ databaseUrl, profile });
  const peer = await startNats();
  try {
    const { credentials, server } = fabric;
    const common = { credentials, size: SIZE, seconds, fanout: 1, window: WINDOW };
    const measured = async (port, pids) => {
      const [own, beside] = [[], []];
      for (let round = 0; round < rounds; round += 1) {
        fabric.profile();
        own.push(await fan({ ...common, name: 'stomp', port, attributes: EVENT, selector: SELECTOR, pids }));
        if (peer !== null)
          beside.push(await fan({ ...common, name: 'nats', port: peer.port, pids: { nats: peer.pid } }));
      }
      return [own, beside];
    };
    const details = { size: SIZE, selector: SELECTOR };
    // Without a relay, which would be a second subscriber: it gets whatever its organization publishes.
    yield figure('fabric-unicast', ...(await measured(fabric.port, { root: server.pid })), details, TARGET_RATIO);
    const relay = await fabric.relay(fabric.port);
    const pids = { root: server.pid, relay: relay.pid };
    yield figure('fabric-unicast-relay', ...(await measured(relay.port, pids)), details, TARGET_RATIO);
  } finally {
    await peer?.stop();
    await fabric.stop();
  }
}
