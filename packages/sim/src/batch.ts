import { createPrivateKey, randomUUID } from 'node:crypto';
import { decryptSessionKey, LIMITS, parseNodeConfiguration } from '@muster/wire';
import { context, curveKeyPair } from 'zeromq';
import type { AssignedBatch, BatchOrder, BatchReport, ConfiguredBatch } from './batch-messages.js';
import { boundedly } from './bounded.js';
import { NodeLink } from './node-link.js';
import { signedCall } from './signed-call.js';

/**
 * A child process of the load generator: holds a batch of nodes until its parent goes away. One process may have
 * 20,000 open files; a node needs two.
 */
const MAX_SOCKETS = 9_000;

/** Heartbeats of one interval are spread over this many moments, so that they do not come in one burst. */
const SLICES = 20;

context.maxSockets = MAX_SOCKETS;

async function configured(order: ConfiguredBatch): Promise<void> {
  const links: NodeLink[] = [];
  const privateKey = createPrivateKey(order.privateKey);
  let intervalMs = 0;
  await boundedly(order.names, order.parallel, async (node) => {
    const curve = curveKeyPair();
    const path = `/organizations/${order.org}/pushy/config/${node}`;
    const query = `ccpk=${encodeURIComponent(curve.publicKey)}&version=3.0`;
    const as = { name: node, privateKey };
    const answer = await signedCall(order.server, as, 'GET', `${path}?${query}`);
    if (answer.status !== 200) throw new Error(`configuration of ${node}: ${answer.status} ${answer.text}`);
    const configuration = parseNodeConfiguration(JSON.parse(answer.text));
    const { curve_public_key: curveServerKey } = configuration;
    if (curveServerKey === undefined) throw new Error('the server offers no CURVE key');
    intervalMs = configuration.push_jobs.heartbeat.interval * 1000;
    const link = new NodeLink({
      org: order.org,
      node,
      incarnation: randomUUID(),
      address: configuration.push_jobs.heartbeat.command_addr,
      curveServerKey,
      curve,
      sessionKey: decryptSessionKey(configuration.encoded_session_key.key, privateKey),
      maxSkewMs: configuration.max_message_skew * 1000,
    });
    links.push(link);
    link.send({ type: 'ready', start: 'first' });
    link.beat();
  });
  heartbeat(links, intervalMs);
}

function heartbeat(links: readonly NodeLink[], intervalMs: number): void {
  let slice = 0;
  setInterval(() => {
    for (let at = slice; at < links.length; at += SLICES) links[at]?.beat();
    slice = (slice + 1) % SLICES;
  }, intervalMs / SLICES);
}

function assigned(order: AssignedBatch): void {
  for (const { name, sessionKey } of order.nodes) {
    const link = new NodeLink({
      org: order.org,
      node: name,
      incarnation: randomUUID(),
      address: order.address,
      curveServerKey: order.curveServerKey,
      curve: curveKeyPair(),
      sessionKey: Buffer.from(sessionKey, 'base64'),
      maxSkewMs: LIMITS.messageSkewMs,
    });
    link.beat();
  }
}

function report(message: BatchReport): void {
  process.send?.(message);
}

process.on('disconnect', () => process.exit(0));
process.once('message', (order: BatchOrder) => {
  const begun = order.kind === 'configured' ? configured(order) : Promise.resolve(assigned(order));
  const nodes = order.kind === 'configured' ? order.names.length : order.nodes.length;
  begun.then(
    () => report({ kind: 'connected', nodes }),
    (error: unknown) => report({ kind: 'failed', reason: String(error) }),
  );
});
