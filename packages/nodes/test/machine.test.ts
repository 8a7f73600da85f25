import { describe, expect, test } from 'vitest';
import { type Liveness, type LivenessEvent, neverHeard, stepLiveness } from '../src/machine.js';

describe('§4.4, N3 Liveness', () => {
  const rules = { intervalMs: 1000, offlineThreshold: 3, onlineThreshold: 2 };
  const run = (events: readonly LivenessEvent[], from: Liveness = neverHeard): Liveness =>
    events.reduce((state, event) => stepLiveness(state, event, rules), from);
  const beat = (at: number): LivenessEvent => ({ type: 'heartbeat', at });
  const sweep = (at: number): LivenessEvent => ({ type: 'sweep', at });
  const configured: LivenessEvent = { type: 'configured' };

  test('a node fresh from its configuration is up with its first heartbeat', () => {
    expect(run([configured, beat(0)]).status).toBe('up');
  });

  test('configuration alone does not bring a node up', () => {
    expect(run([configured]).status).toBe('down');
  });

  test('after offline_threshold missed intervals it is down, and not before', () => {
    const up = run([configured, beat(0)]);
    expect(run([sweep(2999)], up).status).toBe('up');
    expect(run([sweep(3000)], up).status).toBe('down');
  });

  test('a node that says it stops is down at once (§5.3.6)', () => {
    expect(run([configured, beat(0), { type: 'stopping' }]).status).toBe('down');
  });

  test('a node judged down needs online_threshold consecutive intervals', () => {
    const judged = run([configured, beat(0), sweep(3000)]);
    expect(run([beat(5000)], judged).status).toBe('down');
    expect(run([beat(5000), beat(6000)], judged).status).toBe('up');
  });

  test('intervals with a gap between them are not consecutive', () => {
    expect(run([beat(5000), beat(7000), beat(9000)]).status).toBe('down');
  });

  test('a burst of heartbeats counts as one interval', () => {
    expect(run([beat(5000), beat(5001), beat(5002), beat(5003)]).status).toBe('down');
  });

  test('jitter does not break a run', () => {
    expect(run([beat(5000), beat(5900)]).status).toBe('up');
    expect(run([beat(5000), beat(6100)]).status).toBe('up');
  });

  test('silence is noticed in time when the clock is set back', () => {
    const up = run([configured, beat(1_000_000)]);
    expect(run([sweep(0), sweep(2999)], up).status).toBe('up');
    expect(run([sweep(0), sweep(3000)], up).status).toBe('down');
  });

  test('a node comes up again in time when the clock is set back', () => {
    expect(run([beat(1_000_000), beat(0), beat(1000)]).status).toBe('up');
  });

  test('being judged down uses up an unused configuration', () => {
    expect(run([configured, beat(0), configured, sweep(3000), beat(4000)]).status).toBe('down');
  });
});
