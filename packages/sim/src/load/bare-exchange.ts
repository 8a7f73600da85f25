import { randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { claimedSender, dialects, LIMITS, type Session } from '@muster/wire';
import { curveKeyPair, Router } from 'zeromq';
import { startBatches } from './batches.js';
import { nodeName } from './simulated-nodes.js';

export interface BareExchangeOptions {
  /** A free TCP port on 127.0.0.1. */
  readonly port: number;
  readonly nodes: number;
  readonly rounds: number;
}

export interface BareExchange {
  /** Milliseconds from the start of the processes until every node has connected and was heard. */
  readonly connected: number;
  /** Milliseconds of each round. */
  readonly rounds: readonly number[];
}

const ORG = 'bare';
/** Connections waiting to be accepted, as many as the server lets wait: nodes whose turn does not come try again late. */
const BACKLOG = 4096;

/**
 * The floor under a push job: over the same kind of sockets, with CURVE and HMAC, one signed request to every node and
 * one signed reply from each; no state machines, no store, no HTTP.
 */
export async function bareExchange(options: BareExchangeOptions): Promise<BareExchange> {
  const curve = curveKeyPair();
  const address = `tcp://127.0.0.1:${options.port}`;
  const sessions = new Map<string, Session>();
  const identities = new Map<string, Buffer>();
  for (let n = 0; n < options.nodes; n++) {
    sessions.set(nodeName('bare', n), { key: randomBytes(LIMITS.sessionKeyBytes), sent: 0, received: 0 });
  }
  const router = new Router({
    linger: 0,
    curveServer: true,
    curveSecretKey: curve.secretKey,
    sendHighWaterMark: 0,
    backlog: BACKLOG,
  });
  await router.bind(address);
  const all = [...sessions].map(([name, { key }]) => ({ name, sessionKey: Buffer.from(key).toString('base64') }));
  const processes = Math.min(availableParallelism(), options.nodes);
  const size = Math.ceil(all.length / processes);
  const began = performance.now();
  const batches = startBatches(
    Array.from({ length: processes }, (_, n) => ({
      kind: 'assigned' as const,
      org: ORG,
      address,
      curveServerKey: curve.publicKey,
      nodes: all.slice(n * size, (n + 1) * size),
    })),
  );
  try {
    // Every node's first heartbeat tells the connection it is on.
    await heard(router, sessions, identities);
    const connected = performance.now() - began;
    const rounds: number[] = [];
    for (let round = 0; round < options.rounds; round++) rounds.push(await exchange(router, sessions, identities));
    return { connected, rounds };
  } finally {
    await batches.stop();
    router.close();
  }
}

/** Receives one verified message from every node. */
async function heard(
  router: Router,
  sessions: ReadonlyMap<string, Session>,
  identities: Map<string, Buffer>,
): Promise<void> {
  const missing = new Set(sessions.keys());
  for await (const [identity, header, body] of router) {
    if (identity === undefined || header === undefined || body === undefined) continue;
    const sender = claimedSender(body);
    const session = sender === null ? undefined : sessions.get(sender.node);
    if (sender === null || session === undefined) continue;
    dialects.native.openAgent(header, body, session, { now: Date.now(), maxSkewMs: LIMITS.messageSkewMs });
    identities.set(sender.node, identity);
    missing.delete(sender.node);
    if (missing.size === 0) return;
  }
}

async function exchange(
  router: Router,
  sessions: ReadonlyMap<string, Session>,
  identities: Map<string, Buffer>,
): Promise<number> {
  const began = performance.now();
  const request = { type: 'prepare', jobId: 'bare', command: 'true', capture: false, options: {} } as const;
  const encoded = dialects.native.encodeServer(request, { server: 'bare', now: Date.now() });
  if (encoded === null) throw new Error('the native dialect has no prepare');
  const replies = heard(router, sessions, new Map());
  for (const [name, identity] of identities) {
    const session = sessions.get(name);
    if (session === undefined) continue;
    const [header, body] = dialects.native.sealServer(encoded, session);
    await router.send([identity, Buffer.from(header), Buffer.from(body)]);
  }
  await replies;
  return performance.now() - began;
}
