import { statSync } from 'node:fs';
import { EXIT, readByOthers } from '@muster/base';
import type { Command } from 'commander';
import type { NodeState } from '../api.js';
import { answerText } from '../body.js';
import { formatDuration } from '../duration.js';
import { MusterError } from '../errors.js';
import { printable } from '../printable.js';
import type { Credentials } from '../settings.js';
import { type Call, clientCommand, does, type Shell } from '../shell.js';
import {
  type CertificateStatus,
  type Check,
  certificates,
  keys,
  type ServerKeyStatus,
  serverKey,
} from './doctor-expiry.js';

/** Requests signed further from the server's clock than this are refused (sheet §1.5). */
const SKEW_LIMIT_MS = 900_000;
const SKEW_WARNING_MS = 60_000;
const MOST_NODES_EXPLAINED = 20;

export function addDoctor(program: Command, shell: Shell): void {
  const command = clientCommand(program, {
    usage: 'doctor',
    summary: 'check settings, server, clock, permissions, and why nodes are not available',
    examples: ['muster doctor', 'muster doctor --json', 'muster agent doctor --data-dir /var/lib/muster-agent'],
  });
  does<object>(command, shell, async (call) => {
    const checks: Check[] = [];
    for await (const check of examine(call)) {
      checks.push(check);
      call.out.line(
        `${call.out.status(check.result)}${' '.repeat(9 - check.result.length)}${check.name}: ${check.text}`,
      );
    }
    const ok = checks.every(({ result }) => result !== 'failed');
    call.out.document({ ok, checks });
    return ok ? EXIT.ok : EXIT.failed;
  });
}

/** Without settings and a server nothing can be looked at: their failure ends the examination. */
async function* examine(call: Call<object>): AsyncGenerator<Check> {
  const settings = await attempt('settings', () => {
    const { url, org, credentials, source } = call.settings;
    const who = credentials.kind === 'key' ? `as ${credentials.user}, signing with a key` : 'with a bearer token';
    return `${url}, organization ${org}, ${who} (from ${source})`;
  });
  yield settings;
  if (settings.result === 'failed') return;
  yield* keyFile(call.settings.credentials);

  let serverTime: number | null = null;
  let store: StoreStatus = { ok: true };
  let tls: readonly CertificateStatus[] = [];
  let key: ServerKeyStatus | undefined;
  let cluster: ClusterRole | undefined;
  const server = await attempt('server', async () => {
    const { header, body } = await call.client.send('GET', '/_status');
    serverTime = Date.parse(header('date') ?? '');
    const answer = JSON.parse(await answerText(body)) as {
      status?: string;
      store?: StoreStatus;
      certificates?: readonly CertificateStatus[];
      server_key?: ServerKeyStatus;
      cluster?: ClusterRole;
    };
    store = answer.store ?? store;
    tls = answer.certificates ?? tls;
    key = answer.server_key;
    cluster = answer.cluster;
    return `answers: ${answer.status}`;
  });
  yield server;
  if (server.result === 'failed') return;
  if (cluster !== undefined) yield leadOf(cluster);
  yield database(store);
  yield* certificates(tls, call.world.now());
  if (key !== undefined) yield serverKey(key, call.world.now());
  if (serverTime !== null && Number.isFinite(serverTime)) yield clock(call.world.now() - serverTime);

  let nodes: readonly NodeState[] | null = null;
  const reading = await attempt('may read', async () => {
    nodes = await call.client.get<NodeState[]>(call.client.inOrg('pushy', 'node_states'));
    return 'nodes and jobs';
  });
  yield reading;
  yield await mayStart(call);
  yield* keys(call);
  if (nodes !== null) yield* explain(call, nodes);
}

async function attempt(name: string, work: () => Promise<string> | string): Promise<Check> {
  try {
    return { name, result: 'ok', text: await work() };
  } catch (error) {
    if (!(error instanceof MusterError)) throw error;
    return { name, result: 'failed', text: error.advice };
  }
}

/** Whoever reads it signs as its owner. Nothing is said of one that only its owner reads. */
function* keyFile(credentials: Credentials): Generator<Check> {
  if (credentials.kind !== 'key' || credentials.file === undefined) return;
  const mode = statSync(credentials.file, { throwIfNoEntry: false })?.mode ?? 0;
  const text = readByOthers(printable(credentials.file), mode);
  if (text !== null) yield { name: 'key file', result: 'warning', text };
}

interface StoreStatus {
  readonly ok?: boolean;
  readonly problem?: string;
}

function database({ ok, problem }: StoreStatus): Check {
  if (ok !== false) return { name: 'database', result: 'ok', text: 'stores what it is given' };
  if (problem === 'damaged') {
    const text =
      'the file muster.db is damaged, and what it stores may be lost; stop the server, keep a copy of data_dir, and put a ' +
      "backup in the place of the file (docs/guide/operating.md, Restore). The server's log says what was found";
    return { name: 'database', result: 'failed', text };
  }
  const text =
    'stores nothing now, so no job starts and no event is taken; on the server check the space on the disk of data_dir, ' +
    'or PostgreSQL, and see its log. It goes on by itself once that is mended';
  return { name: 'database', result: 'failed', text };
}

interface ClusterRole {
  readonly role: 'leader' | 'follower';
  readonly leader: string | null;
  readonly epoch: number;
}

/** Of the server that has answered. */
function leadOf({ role, leader, epoch }: ClusterRole): Check {
  const name = 'cluster';
  if (leader === null) {
    const text =
      'no server leads, so nothing but this page is answered; if it stays so, see the logs of the servers, and whether they reach PostgreSQL';
    return { name, result: 'failed', text };
  }
  const text = role === 'leader' ? `this server, ${leader}, leads` : `this server follows ${leader}`;
  return { name, result: 'ok', text: `${text} (epoch ${epoch}); all servers: muster cluster status` };
}

function clock(skewMs: number): Check {
  const off = Math.abs(skewMs);
  const text = `${formatDuration(off / 1000)} ${skewMs < 0 ? 'behind' : 'ahead of'} the server`;
  if (off >= SKEW_LIMIT_MS) return { name: 'clock', result: 'failed', text: `${text}; signed requests are refused` };
  return { name: 'clock', result: off >= SKEW_WARNING_MS ? 'warning' : 'ok', text };
}

/** Previewing asks for the same permission as starting, and starts nothing. */
async function mayStart(call: Call<object>): Promise<Check> {
  const check = await attempt('may start', async () => {
    await call.client.post(call.client.inOrg('pushy', 'jobs', 'preview'), { nodes: ['muster-doctor'] });
    return 'jobs';
  });
  return check.result === 'failed' ? { ...check, result: 'warning' } : check;
}

async function* explain(call: Call<object>, nodes: readonly NodeState[]): AsyncGenerator<Check> {
  const missing = nodes.filter((node) => node.availability !== 'available');
  const text = `${nodes.length - missing.length} of ${nodes.length} available`;
  yield { name: 'nodes', result: missing.length === 0 ? 'ok' : 'warning', text };
  for (const node of missing.slice(0, MOST_NODES_EXPLAINED)) {
    const path = call.client.inOrg('nodes', node.node_name, 'why');
    const { explanation } = await call.client.get<{ explanation: string }>(path);
    yield { name: `node ${node.node_name}`, result: 'warning', text: explanation };
  }
  if (missing.length > MOST_NODES_EXPLAINED) {
    const more = `${missing.length - MOST_NODES_EXPLAINED} more are not available: muster node list`;
    yield { name: 'nodes', result: 'warning', text: more };
  }
}
