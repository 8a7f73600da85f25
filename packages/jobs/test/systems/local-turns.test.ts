import { createHook } from 'node:async_hooks';
import { systemClock } from '@muster/base';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { localExec } from '../../src/systems/local/exec.js';

/** In which turn of the loop each program was begun. */
const turns = { now: 0, begun: [] as number[] };
const hook = createHook({
  init(_, type) {
    if (type === 'PROCESSWRAP') turns.begun.push(turns.now);
  },
});
beforeAll(() => hook.enable());
afterAll(() => hook.disable());

test('programs that are asked for at one moment begin in turns of the loop of their own', async () => {
  const exec = localExec({ name: 'here', environment: {} }, systemClock);
  let over = false;
  const count = (): void => {
    turns.now += 1;
    if (!over) setImmediate(count);
  };
  setImmediate(count);
  const results = await Promise.all(Array.from({ length: 20 }, (_, index) => exec(['/bin/echo', String(index)])));
  over = true;
  expect(results.map(({ stdout }) => stdout.trim())).toEqual(Array.from({ length: 20 }, (_, index) => String(index)));
  expect(new Set(turns.begun).size).toBe(20);
});

test('one whose asking is aborted before its turn does not begin', async () => {
  const exec = localExec({ name: 'here', environment: {} }, systemClock);
  const begun = turns.begun.length;
  const aborting = new AbortController();
  const asked = exec(['/bin/true'], { signal: aborting.signal });
  aborting.abort(new Error('not wanted'));
  await expect(asked).rejects.toThrow('not wanted');
  expect(turns.begun.length).toBe(begun);
});
