import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type Clock, systemClock } from '@muster/base';
import { expect, it } from 'vitest';
import { killRun } from '../../src/execution/process-tree.js';
import { KILL_POLL_MS } from '../../src/limits.js';

it('the grace is what passed, however long each look at the processes takes', async () => {
  const child = spawn('sh', ['-c', 'trap "" TERM; echo up; while :; do sleep 0.05; done'], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await once(child.stdout, 'data');
  const graceMs = 5000;
  let passedMs = 0;
  let pauses = 0;
  const slow: Clock = {
    now: systemClock.now,
    monotonic: () => passedMs,
    after(delayMs, work) {
      pauses++;
      passedMs += delayMs + 950;
      return systemClock.after(0, work);
    },
  };
  const exited = once(child, 'exit');
  expect(await killRun({ leader: child.pid ?? 0, marker: 'none', group: null }, slow, graceMs)).toBe(true);
  expect(await exited).toEqual([null, 'SIGKILL']);
  // Five seconds, not five seconds of pauses alone.
  expect(pauses).toBeGreaterThanOrEqual(5);
  expect(pauses).toBeLessThan(graceMs / KILL_POLL_MS / 2);
});
