import { rounded } from './api.mjs';
import { startFabric } from './fabric.mjs';
import { sleep, startLoad } from './fabric-driver.mjs';
import { cpuSeconds, residentMb } from './proc.mjs';

export const about =
  'memory of a relay with N clients that have a subscription and heart-beats (--connections, --seconds)';
export const defaults = { connections: 10_000, seconds: 60 };

const TARGET_MB_OF_10_000 = 300;
const LOADS = 2;
const SIZE = 200;
const HEART_BEAT_MS = 30_000;
const EVENTS_A_SECOND = 5;

/** Events for all come all the time, so that every connection has had its buffers. */
export async function* run({ connections, seconds, databaseUrl, profile }) {
  const fabric = await startFabric({ databaseUrl, profile });
  const loads = Array.from({ length: LOADS }, startLoad);
  try {
    const relay = await fabric.relay(fabric.port);
    const empty = residentMb(relay.pid);
    const fanout = Math.ceil(connections / LOADS);
    await Promise.all(
      loads.map((load, n) =>
        load.tell('prepare', {
          protocol: 'stomp',
          credentials: { ...fabric.credentials, heartBeatMs: HEART_BEAT_MS },
          size: SIZE,
          groups: [{ attributes: { type: 'bench.x', load: n }, fanout }],
          publish: fabric.port,
          clients: Array.from({ length: fanout }, () => ({
            port: relay.port,
            lanes: [{ selector: `load = ${n}`, group: 0 }],
          })),
        }),
      ),
    );
    const connected = residentMb(relay.pid);
    for (const load of loads) await load.tell('pace', { rate: EVENTS_A_SECOND });
    fabric.profile();
    const [cpu, began] = [cpuSeconds(relay.pid), performance.now()];
    let most = connected;
    for (let second = 0; second < seconds; second += 1) {
      await sleep(1000);
      most = Math.max(most, residentMb(relay.pid));
    }
    const elapsed = (performance.now() - began) / 1000;
    const used = cpuSeconds(relay.pid) - cpu;
    fabric.profile();
    for (const load of loads) await load.tell('settle');
    const clients = fanout * LOADS;
    yield {
      figure: 'fabric-clients',
      value: rounded(most),
      unit: 'MB',
      target: rounded((TARGET_MB_OF_10_000 * clients) / 10_000),
      floor: rounded(empty),
      ratio: rounded(most / empty),
      clients,
      connected: rounded(connected),
      kb_a_client: rounded(((most - empty) * 1000) / clients),
      cpu_percent: rounded((used / elapsed) * 100),
      seconds: rounded(elapsed),
    };
  } finally {
    await Promise.all(loads.map((load) => load.stop()));
    await fabric.stop();
  }
}
