import { expect, test } from 'vitest';
import { begin, type Effect, type Event, type Found, type State, step } from '../../src/upgrade/machine.js';
import type { Change } from '../../src/upgrade/records.js';

const INSTALLED = '1.0.0';
const change: Change = {
  phase: 'tried',
  jobId: 'job1',
  captured: true,
  from: '1.0.0',
  to: '1.1.0',
  incarnation: 'i1',
  boot: 'b1',
  hosts: [],
  probationMs: 25_000,
  reason: null,
};
const NOTHING: Found = { change: null, current: null, installed: INSTALLED };
const exited: Event = { type: 'exited', code: 0, signal: null };

/** The state that events lead to from a start, and the effects of the last one. */
function after(
  found: Found,
  ...events: readonly Event[]
): { readonly state: State; readonly effects: readonly Effect[] } {
  return events.reduce<ReturnType<typeof begin>>(({ state }, event) => step(state, event, INSTALLED), begin(found));
}
const did = (effects: readonly Effect[]) => effects.map((effect) => effect.do).filter((name) => name !== 'say');
const started = (effects: readonly Effect[]) => effects.flatMap((one) => (one.do === 'start' ? [one.version] : []));

const ASKED: Event = { type: 'switch', change };
const ON_PROBATION: readonly Event[] = [ASKED, { type: 'kept' }, exited];

test('without any upgrade the installed version runs, and this ends with it', () => {
  expect(started(begin(NOTHING).effects)).toEqual([null]);
  expect(after(NOTHING, { type: 'exited', code: 3, signal: null }).effects).toContainEqual({ do: 'exit', code: 3 });
});

test('nothing is replaced before it is written down', () => {
  const asked = after(NOTHING, ASKED);
  expect(asked.effects).toEqual([{ do: 'keep', change }]);
  expect(after(NOTHING, ASKED, { type: 'kept' }).effects).toContainEqual({ do: 'answer', refused: null });
});

test('an upgrade that cannot be written down is refused, and the agent goes on', () => {
  const { state, effects } = after(NOTHING, ASKED, { type: 'not_kept', reason: 'no space left' });
  expect(state).toEqual({ kind: 'running', base: null, untold: null });
  expect(effects).toEqual([{ do: 'answer', refused: 'no space left' }]);
});

test('the new version is started when the old one has ended, and has its time', () => {
  const { state, effects } = after(NOTHING, ...ON_PROBATION);
  expect(state.kind).toBe('proving');
  expect(started(effects)).toEqual(['1.1.0']);
  expect(effects).toContainEqual({ do: 'arm', afterMs: 25_000 });
});

test('an old version that does not end is killed', () => {
  expect(after(NOTHING, ASKED, { type: 'kept' }, { type: 'late' }).effects).toEqual([{ do: 'kill' }]);
});

test('one that has reached the server stays, once that is written down', () => {
  const settling = after(NOTHING, ...ON_PROBATION, { type: 'settle' });
  expect(settling.effects).toEqual([{ do: 'settle', current: { version: '1.1.0', over: INSTALLED } }]);
  const settled = after(NOTHING, ...ON_PROBATION, { type: 'settle' }, { type: 'kept' });
  expect(settled.state).toEqual({ kind: 'running', base: '1.1.0', untold: null });
  expect(did(settled.effects)).toEqual(['disarm', 'answer', 'clear']);
});

test('one that stays and ends later ends this, and is what the next start runs', () => {
  const { effects } = after(NOTHING, ...ON_PROBATION, { type: 'settle' }, { type: 'kept' }, exited);
  expect(did(effects)).toEqual(['exit']);
  const current = { version: '1.1.0', over: INSTALLED };
  expect(started(begin({ ...NOTHING, current }).effects)).toEqual(['1.1.0']);
});

test('one that has reached the server goes on being on probation when that cannot be written down', () => {
  const full = after(NOTHING, ...ON_PROBATION, { type: 'settle' }, { type: 'not_kept', reason: 'no space left' });
  expect(full.state.kind).toBe('proving');
  expect(full.effects).toEqual([{ do: 'answer', refused: 'no space left' }]);
});

test('one that does not reach the server in time is killed, and the old one comes back and says why', () => {
  const late = after(NOTHING, ...ON_PROBATION, { type: 'late' });
  expect(late.effects).toEqual([{ do: 'kill' }]);
  const { state, effects } = after(
    NOTHING,
    ...ON_PROBATION,
    { type: 'late' },
    {
      type: 'exited',
      code: null,
      signal: 'SIGKILL',
    },
  );
  const reason = 'version 1.1.0 did not reach the server within 25 s';
  expect(effects).toContainEqual({ do: 'note', change: { ...change, phase: 'rolled_back', reason } });
  expect(started(effects)).toEqual([null]);
  expect(state).toMatchObject({ kind: 'running', base: null, untold: { reason } });
});

test.each<[Event, string]>([
  [{ type: 'exited', code: 7, signal: null }, 'version 1.1.0 ended (exit status 7) before it had reached the server'],
  [{ type: 'exited', code: null, signal: 'SIGKILL' }, 'version 1.1.0 ended (SIGKILL) before it had reached the server'],
  [{ type: 'unstartable', reason: 'EACCES' }, 'version 1.1.0 cannot be started: EACCES'],
])('one that ends, is killed or cannot be started is rolled back at once: %j', (event, reason) => {
  const { state, effects } = after(NOTHING, ...ON_PROBATION, event);
  expect(state).toMatchObject({ kind: 'running', base: null, untold: { phase: 'rolled_back', reason } });
  expect(started(effects)).toEqual([null]);
});

test('what was rolled back is forgotten when the old version has reached the server', () => {
  const back = after(NOTHING, ...ON_PROBATION, exited, { type: 'settle' });
  expect(back.state).toEqual({ kind: 'running', base: null, untold: null });
  expect(did(back.effects)).toEqual(['note', 'answer', 'clear']);
});

test('what is come back to is the version that ran, not the installed one', () => {
  const current = { version: '1.0.5', over: INSTALLED };
  expect(started(after({ ...NOTHING, current }, ...ON_PROBATION, exited).effects)).toEqual(['1.0.5']);
});

test('an upgrade in the middle of which everything ended is rolled back at the next start', () => {
  const { state, effects } = begin({ ...NOTHING, change });
  expect(started(effects)).toEqual([null]);
  expect(state).toMatchObject({
    untold: { reason: 'everything was ended before version 1.1.0 had reached the server' },
  });
});

test('an upgrade that was written down as settled, but not yet forgotten, stays', () => {
  const { state, effects } = begin({ ...NOTHING, change, current: { version: '1.1.0', over: INSTALLED } });
  expect(state).toEqual({ kind: 'running', base: '1.1.0', untold: null });
  expect(effects).toContainEqual({ do: 'note', change: null });
});

test('what was rolled back and not told is told after the next start', () => {
  const untold: Change = { ...change, phase: 'rolled_back', reason: 'x' };
  expect(begin({ ...NOTHING, change: untold }).state).toEqual({ kind: 'running', base: null, untold });
});

test('a version that was installed after an upgrade counts', () => {
  const { effects } = begin({ ...NOTHING, current: { version: '1.1.0', over: '0.9.0' } });
  expect(started(effects)).toEqual([null]);
  expect(did(effects)).toContain('forget_current');
});

test('when the version that ran was taken away, the installed one is started', () => {
  const found = { ...NOTHING, current: { version: '1.1.0', over: INSTALLED } };
  const { state, effects } = after(found, { type: 'unstartable', reason: 'ENOENT' });
  expect(state).toEqual({ kind: 'running', base: null, untold: null });
  expect(started(effects)).toEqual([null]);
});

test('an installed version that cannot be started ends this', () => {
  expect(after(NOTHING, { type: 'unstartable', reason: 'ENOENT' }).effects).toContainEqual({ do: 'exit', code: 1 });
});

test('who is told to stop tells the agent, waits for it, and kills it when that takes too long', () => {
  expect(did(after(NOTHING, { type: 'stop' }).effects)).toEqual(['ask_to_stop', 'arm']);
  expect(did(after(NOTHING, { type: 'stop' }, { type: 'late' }).effects)).toEqual(['kill']);
  expect(after(NOTHING, { type: 'stop' }, exited).effects).toContainEqual({ do: 'exit', code: 0 });
});

test('who is told to stop while a version is on probation starts nothing more', () => {
  const { state, effects } = after(NOTHING, ...ON_PROBATION, { type: 'stop' });
  expect(state).toEqual({ kind: 'stopping' });
  expect(effects).toEqual([{ do: 'kill' }]);
  expect(started(after(NOTHING, ...ON_PROBATION, { type: 'stop' }, exited).effects)).toEqual([]);
});

test('a timer that is over after all is settled kills nobody', () => {
  const settled: readonly Event[] = [...ON_PROBATION, { type: 'settle' }, { type: 'kept' }, { type: 'late' }];
  expect(after(NOTHING, ...settled).effects).toEqual([]);
});
