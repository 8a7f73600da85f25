import type { AgentMessage } from '@muster/wire';
import { describe, expect, it } from 'vitest';
import { OUTBOX_MESSAGES } from '../../src/limits.js';
import { Outbox } from '../../src/link/outbox.js';

const beat: AgentMessage = { type: 'heartbeat', state: 'ready', jobId: null, last: null };
const ack = (jobId: string): AgentMessage => ({ type: 'ack', jobId });
const finished = (jobId: string): AgentMessage => ({
  type: 'finished',
  jobId,
  outcome: 'succeeded',
  exitCode: 0,
  signal: null,
  reason: null,
  output: null,
  bytes: null,
});
const piece: AgentMessage = { type: 'output', jobId: 'j', stream: 'stdout', offset: 0, data: Buffer.from('x') };

function drain(outbox: Outbox): string[] {
  const types: string[] = [];
  for (let message = outbox.take(); message !== null; message = outbox.take()) types.push(message.type);
  return types;
}

describe('the outbox', () => {
  it('gives job messages before heartbeats, and heartbeats before output', () => {
    const pieces = [piece];
    const outbox = new Outbox(
      () => beat,
      () => pieces.pop() ?? null,
    );
    outbox.heartbeat();
    outbox.push(ack('a'));
    expect(drain(outbox)).toEqual(['ack', 'heartbeat', 'output']);
  });
  it('holds one heartbeat however many were due', () => {
    const outbox = new Outbox(
      () => beat,
      () => null,
    );
    for (let n = 0; n < 10; n += 1) outbox.heartbeat();
    expect(drain(outbox)).toEqual(['heartbeat']);
  });
  it('takes up to its limit and no more', () => {
    const outbox = new Outbox(
      () => beat,
      () => null,
    );
    const taken = Array.from({ length: OUTBOX_MESSAGES + 1 }, (_, n) => outbox.push(ack(`${n}`)));
    expect(taken.filter(Boolean)).toHaveLength(OUTBOX_MESSAGES);
    expect(taken.at(-1)).toBe(false);
  });
  it('gives nothing while the server is away, and keeps only what nobody would ask for again', () => {
    const outbox = new Outbox(
      () => beat,
      () => piece,
    );
    outbox.push(ack('a'));
    outbox.pause();
    expect(outbox.push(ack('b'))).toBe(false);
    expect(outbox.push(finished('a'))).toBe(true);
    outbox.heartbeat();
    expect(outbox.take()).toBeNull();
    outbox.resume();
    expect([outbox.take()?.type, outbox.take()?.type]).toEqual(['finished', 'output']);
  });
  it('greets a new connection with a heartbeat before everything but a kept result', () => {
    const outbox = new Outbox(
      () => beat,
      () => null,
    );
    outbox.push(ack('a'));
    outbox.push(finished('a'));
    outbox.greet();
    outbox.greet();
    expect(drain(outbox)).toEqual(['finished', 'heartbeat', 'ack']);
  });
  it('takes a message back that the socket refused, but not a heartbeat or output', () => {
    const outbox = new Outbox(
      () => beat,
      () => null,
    );
    outbox.push(ack('b'));
    outbox.putBack(ack('a'));
    outbox.putBack(beat);
    outbox.putBack(piece);
    expect(drain(outbox)).toEqual(['ack', 'ack']);
  });
});
