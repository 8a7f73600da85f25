import type { ManualClock } from '@muster/base';
import type { Transport } from '@muster/nodes';
import { systemRandom } from '@muster/platform/auth';
import { loadConfig } from '@muster/platform/config';
import { type Layer, Layers } from '@muster/platform/layers';
import { Metrics } from '@muster/platform/metrics';
import { SealingKey } from '@muster/platform/secrets';
import { type Composition, compose } from '@muster/server/compose';
import type { MemoryDatabase } from '@muster/store';
import { type Death, DyingLane } from '../kernel/dying-lane.js';
import { SERVER_KEY } from '../kernel/keys.js';
import { Violation } from '../kernel/violation.js';

const CONFIG = loadConfig({ env: {}, flags: { 'log-level': 'silent' } });

/** Nobody is there to be spoken to. */
const NO_TRANSPORT: Transport = {
  start: async () => ({ heartbeat: '', command: '', curvePublicKey: '', plain: null }),
  send: () => undefined,
  publish: () => undefined,
  hangUp: () => undefined,
  stop: async () => undefined,
};

/** The shipped layers, in a process that is killed at a chosen commit. */
export interface MortalServer {
  readonly composed: Composition;
  /** Resolves when it is killed. */
  readonly died: Promise<'died'>;
  stop(): Promise<void>;
}

/** Over a database that outlives it. @param above Layers that stand on those of every server. */
export async function beginMortal(
  database: MemoryDatabase,
  clock: ManualClock,
  death: Death | null,
  above: (composed: Composition) => readonly Layer[] = () => [],
): Promise<MortalServer> {
  let killed: (word: 'died') => void = () => undefined;
  const died = new Promise<'died'>((resolve) => {
    killed = resolve;
  });
  const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: fail };
  // What it does while it starts is not part of the scene.
  let armed: Death | null = null;
  const store = database.connect(
    { clock, log },
    (lane) =>
      new DyingLane(
        lane,
        () => armed,
        () => killed('died'),
      ),
  );
  const composed = compose({
    store,
    clock,
    random: systemRandom,
    logger: log,
    metrics: new Metrics(),
    config: CONFIG,
    incarnation: 'simulated',
    serverName: 'simulated',
    serverKeys: SERVER_KEY,
    sealingKey: SealingKey.of(new Uint8Array(32)),
    transport: NO_TRANSPORT,
  });
  const layers = new Layers([...composed.layers, ...above(composed)]);
  await layers.load();
  await layers.start();
  armed = death;
  const stop = async (): Promise<void> => {
    await layers.stop();
    await store.close();
  };
  return { composed, died, stop };
}

/** What the shipped code logs as its own fault is one. */
function fail(details: object, message: string): void {
  throw new Violation('logged', `${message} ${JSON.stringify(details)}`);
}
