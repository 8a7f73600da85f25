import { LoopTurn, systemClock } from '@muster/base';
import { systemRandom } from '@muster/platform/auth';
import { Metrics } from '@muster/platform/metrics';
import { firstServerKey, normalizePublicKey } from '@muster/signing';
import {
  type AgentMessage,
  decryptSessionKey,
  dialects,
  type Frames,
  type NodeConfiguration,
  openServerHeartbeat,
  type ServerMessage,
  type Session,
  z85Decode,
} from '@muster/wire';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { curveKeyPair, Dealer, Subscriber } from 'zeromq';
import { openRecorder } from '../../platform/test/support/recorder.js';
import { madeKey } from '../../signing/test/support/made-keys.js';
import { createNodes, type Nodes } from '../src/layer.js';
import { Outbox, type RouterSocket } from '../src/outbox.js';
import type { SendDropCause } from '../src/transport.js';
import type { SendResult } from '../src/zmtp/connection.js';
import { nodeSockets } from '../src/zmtp-transport.js';
import { createTestData, nodesConfig, ORG, type TestData } from './support/nodes-fixture.js';

/** The nodes layer over real sockets. */

let data: TestData;
let metrics: Metrics;
let nodes: Nodes;
const agents: SocketAgent[] = [];

beforeEach(async () => {
  data = await createTestData();
  metrics = new Metrics();
  nodes = await startNodes();
});

afterEach(async () => {
  for (const agent of agents.splice(0)) agent.close();
  await nodes.stop();
  await data.close();
});

async function startNodes(listen: { command?: string; spec1?: boolean; interval?: number } = {}): Promise<Nodes> {
  const quiet = () => undefined;
  const config = nodesConfig((settings) => {
    settings.heartbeat.interval = listen.interval ?? 0.1;
    settings.heartbeat.offline_threshold = 1000;
    settings.heartbeat.listen = 'tcp://127.0.0.1:0';
    settings.command.listen = listen.command ?? 'tcp://127.0.0.1:0';
    if (listen.spec1 === true) {
      settings.spec1.heartbeat = 'tcp://127.0.0.1:0';
      settings.spec1.command = 'tcp://127.0.0.1:0';
    }
  });
  const failed = (error: unknown) => {
    throw error;
  };
  const made = createNodes(
    {
      store: data.store,
      recorder: await openRecorder(data.store, systemClock),
      clock: systemClock,
      random: systemRandom,
      metrics,
      logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
      config,
      serverName: 'muster.test',
      incarnation: 'server-1',
    },
    {
      transport: nodeSockets(config, { clock: systemClock, failed }),
      serverKeys: firstServerKey(madeKey(0)),
      removeIdentity: async () => undefined,
      signs: async () => true,
    },
  );
  await made.load();
  await made.start();
  return made;
}

class SocketAgent {
  readonly name: string;
  readonly curve = curveKeyPair();
  readonly inbox: ServerMessage[] = [];
  session: Session = { key: new Uint8Array(32), sent: 0, received: 0 };
  configuration: NodeConfiguration | null = null;
  dealer: Dealer | null = null;

  constructor(name: string) {
    this.name = name;
    agents.push(this);
  }

  /** `admit`: with its own CURVE key in the request. */
  async configure(): Promise<NodeConfiguration> {
    const { publicKey, privateKey } = madeKey(1);
    const caller = { principalId: this.name, type: 'node', name: this.name, serverAdmin: false, publicKey } as const;
    const curveKey = z85Decode(this.curve.publicKey);
    this.configuration = nodes.configure({ org: ORG, node: this.name, caller, curveKey, version: '3.0' });
    const key = decryptSessionKey(this.configuration.encoded_session_key.key, privateKey);
    this.session = { key, sent: 0, received: 0 };
    return this.configuration;
  }

  open(configuration: NodeConfiguration): Dealer {
    const dealer = new Dealer({
      linger: 0,
      curveServerKey: configuration.curve_public_key ?? null,
      curvePublicKey: this.curve.publicKey,
      curveSecretKey: this.curve.secretKey,
    });
    dealer.connect(configuration.push_jobs.command_addr);
    this.dealer = dealer;
    return dealer;
  }

  async connect(): Promise<void> {
    this.open(await this.configure());
  }

  seal(message: AgentMessage): Uint8Array[] {
    const about = { org: ORG.name, node: this.name, incarnation: 'i1', now: Date.now() };
    return [...(dialects.native.encodeAgent(message, about, this.session) ?? [])];
  }

  async raw(...frames: Uint8Array[]): Promise<void> {
    await this.dealer?.send(frames);
  }

  async beat(): Promise<void> {
    await this.raw(...this.seal({ type: 'heartbeat', state: 'ready', jobId: null, last: null }));
  }

  async receive(): Promise<ServerMessage> {
    const [header, body] = (await this.dealer?.receive()) ?? [];
    if (header === undefined || body === undefined) throw new Error('not two frames');
    return dialects.native.openServer(header, body, this.session, { now: Date.now(), maxSkewMs: 300_000 });
  }

  async until(type: ServerMessage['type']): Promise<void> {
    while ((await this.receive()).type !== type);
  }

  async comeUp(): Promise<void> {
    await this.connect();
    await this.beat();
    await this.until('welcome');
    await condition(() => nodes.registry.get(ORG.id, this.name)?.status === 'up');
  }

  close(): void {
    this.dealer?.close();
  }
}

async function condition(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise<void>((resolve) => setImmediate(resolve));
}

async function count(metric: string, labels: Record<string, string>): Promise<number> {
  const found = await metrics.registry.getSingleMetric(metric)?.get();
  const matching = (found?.values ?? []).filter((value) =>
    Object.entries(labels).every(([label, text]) => value.labels[label] === text),
  );
  return matching.reduce((sum, value) => sum + value.value, 0);
}

describe('CURVE', () => {
  test('a node connects after its configuration request and is up', async () => {
    const agent = new SocketAgent('web1');
    await agent.comeUp();
    expect(nodes.status().nodes).toBe(1);
  });

  test('a key that was never announced is refused at the handshake', async () => {
    const good = new SocketAgent('web1');
    const stranger = new SocketAgent('stranger');
    const dealer = stranger.open(await good.configure());
    await condition(async () => (await count('muster_zap_total', { result: 'unknown' })) > 0);
    expect(await count('muster_zap_total', { result: 'admitted' })).toBe(0);
    dealer.close();
  });

  test('a node whose key was removed loses its connection, and comes to no other', async () => {
    const agent = new SocketAgent('web1');
    await agent.comeUp();
    const refused = new Promise<void>((resolve) => agent.dealer?.events.on('handshake:error:auth', () => resolve()));
    const gone = new Promise<void>((resolve) => agent.dealer?.events.on('disconnect', () => resolve()));
    const { fingerprint } = normalizePublicKey(madeKey(1).publicKey);
    await nodes.keyRemoved(ORG, 'web1', fingerprint);
    await gone;
    // ZeroMQ tries again by itself.
    await refused;
    expect(nodes.sizes()).toMatchObject({ connections: 0, admissions: 0 });
  });

  test('without CURVE nothing is heard', async () => {
    const good = new SocketAgent('web1');
    const { push_jobs } = await good.configure();
    const plain = new Dealer({ linger: 0 });
    const failed = new Promise<void>((resolve) => {
      plain.events.on('handshake:error:protocol', () => resolve());
      plain.events.on('disconnect', () => resolve());
    });
    plain.connect(push_jobs.command_addr);
    await plain.send([Buffer.from('Version:3.0'), Buffer.from('{}')]);
    await failed;
    expect(await count('muster_messages_dropped_total', {})).toBe(0);
    plain.close();
  });
});

describe('malformed frames over an admitted connection', () => {
  test('are counted by cause while a good node keeps working', async () => {
    const good = new SocketAgent('web1');
    await good.comeUp();
    const bad = new SocketAgent('web2');
    await bad.connect();
    const [header = Buffer.alloc(0), body = Buffer.alloc(0)] = bad.seal({ type: 'ready', start: null });
    const about = (org: string, node: string) => Buffer.from(JSON.stringify({ org, node }));
    const forged = Buffer.from(body);
    forged[forged.length - 2] = 0x20;

    await bad.raw(header);
    await bad.raw(header, body, body);
    await bad.raw(Buffer.alloc(3000, 'x'), body);
    await bad.raw(header, Buffer.alloc(70_000, 'x'));
    await bad.raw(Buffer.from('Version:7'), body);
    await bad.raw(header, Buffer.from('not json'));
    await bad.raw(header, about('nowhere', 'x'));
    await bad.raw(header, about(ORG.name, 'nobody'));
    await bad.raw(header, Buffer.from(JSON.stringify({ org: ORG.name, node: 'web2', type: 'ready' })));
    await bad.raw(header, body);
    await bad.raw(header, body);

    await condition(async () => (await count('muster_messages_dropped_total', {})) === 10);
    const expected = {
      frames: 2,
      header_too_big: 1,
      body_too_big: 1,
      bad_header: 1,
      parse_fail: 1,
      unknown_org: 1,
      unknown_node: 1,
      bad_sig: 1,
      replayed: 1,
    };
    for (const [cause, times] of Object.entries(expected)) {
      expect([cause, await count('muster_messages_dropped_total', { cause })]).toEqual([cause, times]);
    }

    await good.beat();
    nodes.registry.send(ORG.id, ['web1'], { type: 'reconfigure' });
    expect(await good.receive()).toEqual({ type: 'reconfigure' });
  });

  test('a frame far beyond the limit costs the sender its connection and nobody else theirs', async () => {
    const good = new SocketAgent('web1');
    await good.comeUp();
    const bad = new SocketAgent('web2');
    const dealer = bad.open(await bad.configure());
    const gone = new Promise<void>((resolve) => dealer.events.on('disconnect', () => resolve()));
    await bad.raw(Buffer.from('h'), Buffer.alloc(1_000_000));
    await gone;
    nodes.registry.send(ORG.id, ['web1'], { type: 'reconfigure' });
    expect(await good.receive()).toEqual({ type: 'reconfigure' });
  });
});

describe('sending', () => {
  test('a message to a peer that has gone is dropped and counted, and others get theirs', async () => {
    const good = new SocketAgent('web1');
    await good.comeUp();
    const gone = new SocketAgent('web2');
    await gone.comeUp();
    gone.close();
    await condition(async () => {
      nodes.registry.send(ORG.id, ['web2'], { type: 'reconfigure' });
      return (await count('muster_sends_dropped_total', { cause: 'unreachable' })) > 0;
    });
    nodes.registry.send(ORG.id, ['web1'], { type: 'reconfigure' });
    expect(await good.receive()).toEqual({ type: 'reconfigure' });
  });

  test('messages to one node arrive in the order they were sent', async () => {
    const agent = new SocketAgent('web1');
    await agent.comeUp();
    const jobs = Array.from({ length: 50 }, (_, index) => `j${index}`);
    for (const jobId of jobs) nodes.registry.send(ORG.id, ['web1'], { type: 'start', jobId });
    for (const jobId of jobs) expect(await agent.receive()).toEqual({ type: 'start', jobId });
  });
});

describe('the outbox', () => {
  const frames = (id: number): Frames => [Buffer.from([id]), Buffer.alloc(0)];
  const turn = LoopTurn.of(systemClock);

  test('drops and counts what is beyond its limit', async () => {
    const causes: SendDropCause[] = [];
    const sent: (number | undefined)[] = [];
    const socket: RouterSocket = {
      send(_identity, [header]) {
        sent.push(header[0]);
        return 'sent';
      },
    };
    const outbox = new Outbox(socket, (cause) => causes.push(cause), turn, 2);
    for (const id of [1, 2, 3]) outbox.push(Buffer.alloc(5), () => frames(id));
    await condition(() => sent.length === 2);
    expect(sent).toEqual([1, 2]);
    expect(causes).toEqual(['outbox_full']);
  });

  test('counts what the socket does not take', async () => {
    const causes: SendDropCause[] = [];
    const results: SendResult[] = ['gone', 'busy', 'sent'];
    const outbox = new Outbox({ send: () => results.shift() ?? 'sent' }, (cause) => causes.push(cause), turn);
    for (const id of [1, 2, 3]) outbox.push(Buffer.alloc(5), () => frames(id));
    await condition(() => results.length === 0);
    expect(causes).toEqual(['unreachable', 'peer_busy']);
  });

  test('a message that cannot be sealed any more is not sent', async () => {
    const sent: Frames[] = [];
    const socket: RouterSocket = {
      send(_identity, message) {
        sent.push(message);
        return 'sent';
      },
    };
    const outbox = new Outbox(socket, () => undefined, turn);
    outbox.push(Buffer.alloc(5), () => null);
    outbox.push(Buffer.alloc(5), () => [Buffer.from('h'), Buffer.from('b')]);
    await condition(() => sent.length === 1);
    expect(sent[0]?.[1].toString()).toBe('b');
  });
});

describe('the server’s heartbeat', () => {
  test('reaches subscribers, signed and numbered', async () => {
    const agent = new SocketAgent('web1');
    const { push_jobs, public_key } = await agent.configure();
    const subscriber = new Subscriber({ linger: 0 });
    subscriber.subscribe();
    subscriber.connect(push_jobs.heartbeat.out_addr);
    const sequences: number[] = [];
    for (const dialect of ['native', 'chef2'] as const) {
      const [header, body] = await subscriber.receive();
      if (header === undefined || body === undefined) throw new Error('not two frames');
      const checks = { now: Date.now(), maxSkewMs: 300_000, dialect };
      const beat = openServerHeartbeat([header, body], public_key, checks);
      expect(beat).toMatchObject({ server: 'muster.test', incarnation: 'server-1' });
      sequences.push(beat.sequence);
    }
    expect(sequences[1]).toBe((sequences[0] ?? 0) + 1);
    subscriber.close();
  });
});

describe('the first heartbeat of a server', () => {
  test('reaches also who subscribes before the second one', async () => {
    await nodes.stop();
    metrics = new Metrics();
    nodes = await startNodes({ interval: 3600 });
    const { push_jobs, public_key } = await new SocketAgent('web1').configure();
    const subscriber = new Subscriber({ linger: 0 });
    subscriber.subscribe();
    subscriber.connect(push_jobs.heartbeat.out_addr);
    const [header, body] = await subscriber.receive();
    if (header === undefined || body === undefined) throw new Error('not two frames');
    const checks = { now: Date.now(), maxSkewMs: 300_000, dialect: 'native' } as const;
    expect(openServerHeartbeat([header, body], public_key, checks)).toMatchObject({ sequence: 0 });
    subscriber.close();
  });
});

describe('addresses', () => {
  test('one that is taken is an error that names it', async () => {
    const agent = new SocketAgent('web1');
    const { push_jobs } = await agent.configure();
    metrics = new Metrics();
    await expect(startNodes({ command: push_jobs.command_addr })).rejects.toMatchObject({
      code: 'address_in_use',
      details: { address: push_jobs.command_addr },
    });
  });
});

describe('spec 1.0', () => {
  const caller = async () => {
    const { publicKey } = madeKey(1);
    return { principalId: 'n', type: 'node', name: 'old', serverAdmin: false, publicKey } as const;
  };

  test('its unencrypted sockets exist only when configured', async () => {
    await nodes.stop();
    metrics = new Metrics();
    nodes = await startNodes({ spec1: true });
    const request = { org: ORG, node: 'old', caller: await caller(), curveKey: null, version: undefined };
    const configuration = nodes.configure(request);
    expect(configuration.curve_public_key).toBeUndefined();

    const { privateKey } = madeKey(1);
    const session: Session = {
      key: new Uint8Array(32),
      sent: 0,
      received: 0,
      rsa: { peerPublicKey: configuration.public_key, ownPrivateKey: privateKey },
    };
    const dealer = new Dealer({ linger: 0 });
    dealer.connect(configuration.push_jobs.command_addr);
    const about = { org: ORG.name, node: 'old', incarnation: 'i1', now: Date.now() };
    const frames = dialects.spec1.encodeAgent(
      { type: 'heartbeat', state: 'ready', jobId: null, last: null },
      about,
      session,
    );
    await dealer.send([...(frames ?? [])]);
    await condition(() => nodes.registry.get(ORG.id, 'old')?.status === 'up');
    nodes.registry.send(ORG.id, ['old'], { type: 'abort' });
    const limits = { now: Date.now(), maxSkewMs: 300_000 };
    for (;;) {
      const [header, body] = await dealer.receive();
      if (header === undefined || body === undefined) throw new Error('not two frames');
      if (dialects.spec1.openServer(header, body, session, limits).type === 'abort') break;
    }
    expect(nodes.registry.get(ORG.id, 'old')).toMatchObject({ status: 'up', dialect: 'spec1' });
    dealer.close();
  });
});
