import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { begin, type LinkEvent, type LinkPolicy, type LinkState, step } from '../../src/client/connection/machine.js';
import { MusterError } from '../../src/errors.js';

const error = new MusterError('fabric_lost', { url: 'u', reason: 'r' });
const final = { type: 'failed', error, final: true } as const;
const failed = { type: 'failed', error, final: false } as const;
const KEEN: LinkPolicy = { reconnect: true, retries: Number.POSITIVE_INFINITY, renews: false };

function run(events: readonly LinkEvent[], policy = KEEN) {
  let { state, effects } = begin();
  for (const event of events) ({ state, effects } = step(state, event, policy));
  return { state: state.kind, effects: effects.map(({ type }) => type) };
}

describe('a link', () => {
  it('begins with an attempt', () => {
    expect(run([])).toEqual({ state: 'connecting', effects: ['attempt'] });
  });

  it('that is connected sends the subscriptions', () => {
    expect(run([{ type: 'connected' }])).toEqual({ state: 'connected', effects: ['found'] });
  });

  it('L-1: that is lost is told so once, and tried again after a pause until it is found', () => {
    const lost: LinkEvent[] = [{ type: 'connected' }, failed];
    expect(run(lost)).toEqual({ state: 'waiting', effects: ['lost', 'wait'] });
    expect(run([...lost, { type: 'due' }])).toEqual({ state: 'connecting', effects: ['attempt'] });
    expect(run([...lost, { type: 'due' }, failed])).toEqual({ state: 'waiting', effects: ['wait'] });
    expect(run([...lost, { type: 'due' }, failed, { type: 'due' }, { type: 'connected' }]).effects).toEqual(['found']);
  });

  it('L-2: that is lost ends when nobody wants it again', () => {
    const policy = { reconnect: false, retries: 0, renews: false };
    expect(run([{ type: 'connected' }, failed], policy)).toEqual({ state: 'closed', effects: ['lost', 'finish'] });
  });

  it('L-4: that was never connected ends after its retries', () => {
    const policy = { reconnect: true, retries: 2, renews: false };
    const twice: LinkEvent[] = [failed, { type: 'due' }, failed, { type: 'due' }];
    expect(run(twice, policy).state).toBe('connecting');
    expect(run([...twice, failed], policy)).toEqual({ state: 'closed', effects: ['finish'] });
    expect(run([failed], { reconnect: true, retries: 0, renews: false })).toEqual({
      state: 'closed',
      effects: ['finish'],
    });
  });

  it('that was connected once counts no retries', () => {
    const policy = { reconnect: true, retries: 0, renews: false };
    expect(run([{ type: 'connected' }, failed, { type: 'due' }, failed], policy).state).toBe('waiting');
  });

  it('that is refused ends at once', () => {
    expect(run([final])).toEqual({ state: 'closed', effects: ['finish'] });
    expect(run([{ type: 'connected' }, final])).toEqual({ state: 'closed', effects: ['lost', 'finish'] });
  });

  it('that was connected and has another passcode each time is tried once more when it is refused', () => {
    const policy = { ...KEEN, renews: true };
    const refused: LinkEvent[] = [{ type: 'connected' }, failed, { type: 'due' }, final];
    expect(run([final], policy).state).toBe('closed');
    expect(run(refused)).toEqual({ state: 'closed', effects: ['finish'] });
    expect(run(refused, policy)).toEqual({ state: 'waiting', effects: ['wait'] });
    expect(run([...refused, { type: 'due' }, final], policy)).toEqual({ state: 'closed', effects: ['finish'] });
    expect(run([...refused, { type: 'due' }, failed, { type: 'due' }, final], policy).state).toBe('waiting');
  });

  it('that is closed stops whatever it does', () => {
    expect(run([{ type: 'close' }])).toEqual({ state: 'closed', effects: ['hang_up', 'finish'] });
    expect(run([{ type: 'connected' }, { type: 'close' }]).effects).toEqual(['hang_up', 'finish']);
    expect(run([failed, { type: 'close' }]).effects).toEqual(['stop_waiting', 'finish']);
  });

  it('finishes exactly once, and does nothing after that, whatever happens', () => {
    const events = fc.array(
      fc.constantFrom<LinkEvent>({ type: 'connected' }, failed, final, { type: 'due' }, { type: 'close' }),
    );
    const policies = fc.record({ reconnect: fc.boolean(), retries: fc.nat(3), renews: fc.boolean() });
    fc.assert(
      fc.property(events, policies, (all, policy) => {
        let state: LinkState = begin().state;
        let finished = 0;
        let attempts = 1;
        for (const event of all) {
          const next = step(state, event, policy);
          if (state.kind === 'closed') expect(next).toEqual({ state, effects: [] });
          finished += next.effects.filter(({ type }) => type === 'finish').length;
          attempts += next.effects.filter(({ type }) => type === 'attempt').length;
          // One thing at a time: an attempt only out of waiting.
          if (next.effects.some(({ type }) => type === 'attempt')) expect(state.kind).toBe('waiting');
          state = next.state;
        }
        expect(finished).toBe(state.kind === 'closed' ? 1 : 0);
        expect(attempts).toBeLessThanOrEqual(all.length + 1);
      }),
    );
  });
});
