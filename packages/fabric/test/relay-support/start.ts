import { connect } from 'node:net';
import { systemClock } from '@muster/base';
import type { RootOptions } from '@muster/fabric';
import {
  type Relay,
  type RelayEnvironment,
  type RelayLog,
  type RelayOptions,
  startRelay,
} from '../../src/relay/index.js';
import type { RelayState } from '../../src/relay/machine.js';
import type { RelayStatus } from '../../src/relay/status/status.js';
import { RawClient } from '../support/raw-client.js';
import { RootFixture } from '../support/root-fixture.js';
import { ScriptedParent } from './scripted-parent.js';

const silent: RelayLog = { debug() {}, info() {}, warn() {}, error() {} };

/** Short times, so that tests of faults are short; none of them is asserted. */
const QUICK = { retryMs: 40 } as const;
/** For tests in which upstream does not answer. */
export const IMPATIENT = { sendMs: 400 } as const;

export interface TestRelay {
  readonly relay: Relay;
  /** As soon as clients are taken. */
  port(): Promise<number>;
  url(): Promise<string>;
  status(): RelayStatus;
  state(): RelayState['kind'];
  /** Resolves when the status is as wanted. */
  until(wanted: (status: RelayStatus) => boolean): Promise<void>;
  /** Logged in. */
  client(login?: string): Promise<RawClient>;
}

/** What a test started, to be stopped after it in the opposite order. */
const started: (() => Promise<unknown>)[] = [];

export async function stopAll(): Promise<void> {
  for (const stop of started.splice(0).reverse()) await stop();
}

export async function scriptedParent(): Promise<ScriptedParent> {
  const parent = await ScriptedParent.start();
  started.push(() => parent.die());
  return parent;
}

export async function realRoot(options: Partial<RootOptions> = {}): Promise<RootFixture> {
  const root = await RootFixture.start(options);
  started.push(() => root.end());
  root.authority.set('default/relay', { relay: true });
  return root;
}

export function relayBelow(
  upstream: string | number,
  options: Partial<RelayOptions> = {},
  around: Partial<RelayEnvironment> = {},
): TestRelay {
  const relay = startRelay(
    {
      upstream: typeof upstream === 'number' ? `stomp://127.0.0.1:${upstream}` : upstream,
      listen: ['127.0.0.1:0'],
      login: 'default/relay',
      passcode: () => 'secret',
      ...QUICK,
      ...options,
    },
    { clock: systemClock, log: silent, random: Math.random, ...around },
  );
  started.push(() => relay.stop());
  const port = async () => portOf((await relay.serving)[0]);
  const status = () => relay.status();
  return {
    relay,
    port,
    url: async () => `stomp://127.0.0.1:${await port()}`,
    status,
    state: () => status().upstream.state,
    async until(wanted) {
      while (!wanted(status())) await new Promise((resolve) => setImmediate(resolve));
    },
    async client(login = 'default/client') {
      const client = new RawClient(await port());
      started.push(async () => client.socket.destroy());
      await client.connect(login);
      return client;
    },
  };
}

/** A scripted parent, and a relay below it that takes clients. */
export async function small(
  options: Partial<RelayOptions> = {},
): Promise<{ parent: ScriptedParent; relay: TestRelay }> {
  const parent = await scriptedParent();
  const relay = relayBelow(parent.url, options);
  await relay.port();
  return { parent, relay };
}

/** A real root with relays below each other, the last of them the lowest. */
export async function tree(
  depth: number,
): Promise<{ root: RootFixture; relays: readonly TestRelay[]; leaf: TestRelay }> {
  const root = await realRoot();
  const relays: TestRelay[] = [];
  let above = root.port;
  for (let level = 0; level < depth; level++) {
    const relay = relayBelow(above);
    relays.push(relay);
    above = await relay.port();
  }
  const leaf = relays.at(-1);
  if (leaf === undefined) throw new Error('a tree has relays');
  return { root, relays, leaf };
}

/** Whether somebody listens there. */
export function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}

function portOf(url: string | undefined): number {
  return Number(/:(\d+)\/?$/.exec(url ?? '')?.[1]);
}
