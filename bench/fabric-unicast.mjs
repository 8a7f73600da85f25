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
    const relay = await fabric.relay(fabric.port);
    const { credentials, server } = fabric;
    const pids = { root: server.pid, relay: relay.pid };
    const common = { credentials, size: SIZE, seconds, fanout: 1, window: WINDOW };
    const muster = { ...common, name: 'stomp', attributes: EVENT, selector: SELECTOR, pids };
    const [direct, through, beside] = [[], [], []];
    for (let round = 0; round < rounds; round += 1) {
      fabric.profile();
      direct.push(await fan({ ...muster, port: fabric.port }));
      fabric.profile();
      through.push(await fan({ ...muster, port: relay.port }));
      if (peer !== null) beside.push(await fan({ ...common, name: 'nats', port: peer.port, pids: { nats: peer.pid } }));
    }
    yield figure('fabric-unicast', direct, beside, { size: SIZE, selector: SELECTOR }, TARGET_RATIO);
    yield figure('fabric-unicast-relay', through, beside, { size: SIZE, selector: SELECTOR }, TARGET_RATIO);
  } finally {
    await peer?.stop();
    await fabric.stop();
  }
}
