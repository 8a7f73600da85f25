import { describe, expect, it } from 'vitest';
import { type ChannelEvent, freshWatch, watch } from '../../src/link/channel-watch.js';
import { freshLiveness, judge } from '../../src/link/liveness.js';

const thresholds = { offline: 3, online: 2 };

/** `b` is a beat, `.` the end of an interval. Gives the effects with the number of the interval they came in. */
function play(pattern: string): string[] {
  let liveness = freshLiveness;
  let interval = 0;
  const said: string[] = [];
  for (const mark of pattern) {
    if (mark === '.') interval += 1;
    const result = judge(liveness, { type: mark === 'b' ? 'heartbeat' : 'tick' }, thresholds);
    liveness = result.liveness;
    for (const effect of result.effects) said.push(`${interval} ${effect}`);
  }
  return said;
}

describe('the agent judging its server (N3)', () => {
  it('starts online', () => expect(freshLiveness.online).toBe(true));
  it('stays online while fewer intervals than the threshold pass without a beat', () => {
    expect(play('b...b..b..b')).toEqual([]);
  });
  it('goes offline after exactly offline_threshold consecutive intervals without a beat', () => {
    expect(play('b....')).toEqual(['4 went_offline']);
  });
  it('a beat between missed intervals starts the count anew', () => {
    expect(play('b...b...b...')).toEqual([]);
  });
  it('comes online after online_threshold consecutive intervals with a beat', () => {
    expect(play('...b.b.')).toEqual(['3 went_offline', '5 went_online']);
  });
  it('a missed interval while offline starts that count anew', () => {
    expect(play('...b..b.b.')).toEqual(['3 went_offline', '7 went_online']);
  });
  it('many beats in one interval count once', () => {
    expect(play('...bbbb.')).toEqual(['3 went_offline']);
  });
  it('asks for the configuration when the server is gone for too long, again and again', () => {
    expect(play('.'.repeat(12))).toEqual(['3 went_offline', '6 lost', '12 lost']);
  });
});

describe('the watch over the command channel', () => {
  function reconfigurations(events: readonly ChannelEvent[]): number[] {
    let state = freshWatch;
    let ticks = 0;
    const at: number[] = [];
    for (const event of events) {
      if (event === 'tick') ticks += 1;
      const result = watch(state, event);
      state = result.watch;
      if (result.reconfigure) at.push(ticks);
    }
    return at;
  }
  const ticks = (n: number): ChannelEvent[] => Array.from({ length: n }, () => 'tick');

  it('a channel that never connects is given three intervals, then six, then twelve', () => {
    expect(reconfigurations(ticks(21))).toEqual([3, 9, 21]);
  });
  it('a channel that connects but is never answered is no better', () => {
    expect(reconfigurations(['connected', ...ticks(3)])).toEqual([3]);
  });
  it('an answered channel may be silent for ever', () => {
    expect(reconfigurations(['connected', 'received', ...ticks(100)])).toEqual([]);
  });
  it('a channel that dies later is noticed', () => {
    expect(reconfigurations(['connected', 'received', ...ticks(50), 'disconnected', ...ticks(3)])).toEqual([53]);
  });
  it('each new connection must be answered', () => {
    const events: ChannelEvent[] = ['connected', 'received', 'disconnected', 'connected', ...ticks(3)];
    expect(reconfigurations(events)).toEqual([3]);
  });
  it('an answer ends the backing off', () => {
    const events: ChannelEvent[] = [...ticks(3), 'reopened', 'connected', 'received', 'disconnected', ...ticks(3)];
    expect(reconfigurations(events)).toEqual([3, 6]);
  });
});
