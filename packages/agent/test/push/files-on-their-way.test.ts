import { systemClock } from '@muster/base';
import type { AgentMessage, ServerMessage } from '@muster/wire';
import { expect, it } from 'vitest';
import { durableFiles } from '../../src/durable.js';
import { RunNote } from '../../src/execution/run-note.js';
import { CommandController } from '../../src/push/controller.js';
import { silent } from '../support/agent.js';

/** A controller that is ready, and whose job's files come when the test says. */
function readyController() {
  const sent: AgentMessage[] = [];
  const released: string[] = [];
  const checks: { readonly signal: AbortSignal; answer(refusal: string | null): void }[] = [];
  const controller = new CommandController({
    clock: systemClock,
    logger: silent,
    note: new RunNote('/nowhere', durableFiles),
    send: (message) => sent.push(message),
    check: (_job, signal) =>
      new Promise((answer, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
        checks.push({ signal, answer });
      }),
    release: async (jobId) => void released.push(jobId),
    execution: () => {
      throw new Error('nothing is started');
    },
  });
  controller.apply({ type: 'looked_back', start: 'clean', interrupted: null });
  controller.apply({ type: 'server_heard' });
  const told = (type: AgentMessage['type']) => sent.filter((message) => message.type === type);
  return { controller, checks, released, told };
}

const prepare: Extract<ServerMessage, { type: 'prepare' }> = {
  type: 'prepare',
  jobId: 'a',
  command: 'x',
  capture: false,
  options: {},
};

it('a prepare that is repeated while files are on their way is answered once, when they are here', async () => {
  const { controller, checks, told } = readyController();
  controller.receive(prepare);
  await expect.poll(() => checks.length).toBe(1);
  controller.receive(prepare);
  checks[0]?.answer(null);
  await expect.poll(() => told('ack').length).toBe(1);
  controller.receive({ type: 'abort' });
  await expect.poll(() => told('aborted').length).toBe(1);
  expect(told('ack')).toHaveLength(1);
  expect(checks).toHaveLength(1);
});

it('an abort ends what is on its way at once, and the job is neither taken nor refused', async () => {
  const { controller, checks, released, told } = readyController();
  controller.receive(prepare);
  await expect.poll(() => checks.length).toBe(1);
  controller.receive({ type: 'abort' });
  await expect.poll(() => told('aborted').length).toBe(1);
  expect(checks[0]?.signal.aborted).toBe(true);
  expect([...told('ack'), ...told('nack')]).toEqual([]);
  controller.receive({ ...prepare, jobId: 'b' });
  await expect.poll(() => checks.length).toBe(2);
  checks[1]?.answer('no room');
  await expect.poll(() => told('nack')).toMatchObject([{ jobId: 'b', reason: 'no room' }]);
  expect(released).toContain('b');
});
