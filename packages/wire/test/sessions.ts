import { createPrivateKey, createPublicKey } from 'node:crypto';
import { MESSAGE_KEY, SIGNING_KEY } from '../../signing/test/vectors.js';
import { Dropped, type Frames, type Session } from '../src/dialects/types.js';
import type { AgentMessage, DropCause, ServerMessage } from '../src/messages/index.js';

/** Both ends of one session: the server signs with one RSA key, the node with the other. */
export function sessionPair(): { server: Session; agent: Session } {
  const key = Buffer.from('01234567890123456789012345678901');
  const serverKey = createPrivateKey(MESSAGE_KEY);
  const agentKey = createPrivateKey(SIGNING_KEY);
  return {
    server: {
      key,
      sent: 0,
      received: 0,
      rsa: { ownPrivateKey: serverKey, peerPublicKey: createPublicKey(SIGNING_KEY) },
    },
    agent: {
      key,
      sent: 0,
      received: 0,
      rsa: { ownPrivateKey: agentKey, peerPublicKey: createPublicKey(MESSAGE_KEY) },
    },
  };
}

/** Sat, 12 May 2012 20:33:15 GMT. */
export const NOW = Date.UTC(2012, 4, 12, 20, 33, 15);
export const LIMITS_NOW = { now: NOW, maxSkewMs: 300_000 };
export const FROM_SERVER = { server: 'push.example.com', now: NOW };
export const FROM_NODE = { org: 'acme', node: 'node1.example.com', incarnation: 'inc-1', now: NOW };

export function dropCause(work: () => unknown): DropCause | 'accepted' {
  try {
    work();
  } catch (error) {
    if (error instanceof Dropped) return error.why;
    throw error;
  }
  return 'accepted';
}

export function json(frames: Frames | null): Record<string, unknown> {
  return JSON.parse(Buffer.from(frames?.[1] ?? []).toString('utf8')) as Record<string, unknown>;
}

export function header(frames: Frames | null): string {
  return Buffer.from(frames?.[0] ?? []).toString('latin1');
}

export const PREPARE: ServerMessage & { readonly type: 'prepare' } = {
  type: 'prepare',
  jobId: 'job1',
  command: 'chef-client',
  capture: false,
  options: {},
};

export const FINISHED: AgentMessage & { readonly type: 'finished' } = {
  type: 'finished',
  jobId: 'job1',
  outcome: 'succeeded',
  exitCode: 0,
  signal: null,
  reason: null,
  output: null,
  bytes: null,
};
