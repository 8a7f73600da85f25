import type { Write } from '@muster/store';
import { expect, onTestFinished, test, vi } from 'vitest';
import { ORG } from '../../nodes/test/support/nodes-fixture.js';
import { LiveJob } from '../src/controller/live-job.js';
import { OutputKeeper } from '../src/output/output-keeper.js';
import { jobId, openTestStore, SPEC } from './support/push-rows.js';

const JOB = jobId(0xa);
const job = new LiveJob({ org: ORG, id: JOB, spec: SPEC, requester: 'me', createdAt: 0 });

/** A store whose disk is slow: each write goes on when it is told to. */
async function slowStore() {
  const { store, close } = await openTestStore();
  onTestFinished(close);
  const held: (() => void)[] = [];
  const acknowledged: number[] = [];
  const persist = async (writes: readonly Write[]): Promise<void> => {
    await new Promise<void>((resolve) => held.push(resolve));
    await store.persist(writes);
  };
  const keeper = new OutputKeeper({
    store: { read: store.read, persist },
    limit: 10,
    stored: (_org, _job, _node, _stream, offset) => void acknowledged.push(offset),
    failed: (error) => {
      throw error;
    },
  });
  const take = (offset: number, text: string) =>
    keeper.chunk(job, 'web1', { type: 'output', jobId: JOB, stream: 'stdout', offset, data: Buffer.from(text) });
  const answer = async () => {
    const before = acknowledged.length;
    held.shift()?.();
    await vi.waitFor(() => expect(acknowledged.length).toBe(before + 1));
  };
  return { take, answer, acknowledged };
}

test('a piece that is repeated before it is stored is not acknowledged as stored', async () => {
  const { take, answer, acknowledged } = await slowStore();
  take(0, 'hello');
  take(0, 'hello');
  expect(acknowledged.filter((offset) => offset > 0)).toEqual([]);
  await answer();
  expect(acknowledged.at(-1)).toBe(5);
});

test('what is beyond the limit, and not stored, does not vouch for what is before it', async () => {
  const { take, answer, acknowledged } = await slowStore();
  take(0, 'helloworld');
  take(10, '!');
  expect(acknowledged.filter((offset) => offset > 0)).toEqual([]);
  await answer();
  expect(acknowledged.at(-1)).toBe(11);
});

test('each piece is acknowledged when it is stored, not with the last', async () => {
  const { take, answer, acknowledged } = await slowStore();
  take(0, 'one');
  take(3, 'two');
  await answer();
  expect(acknowledged).toEqual([3]);
  await answer();
  expect(acknowledged).toEqual([3, 6]);
});
