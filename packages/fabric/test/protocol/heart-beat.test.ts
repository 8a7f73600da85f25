import { ManualClock } from '@muster/base';
import { beforeEach, describe, expect, test } from 'vitest';
import { HeartBeat } from '../../src/protocol/heart-beat.js';

let clock: ManualClock;
let beats: number;
let silences: number;
beforeEach(() => {
  clock = new ManualClock();
  beats = 0;
  silences = 0;
});

function start(sendMs: number, patienceMs: number): HeartBeat {
  const ports = {
    clock,
    write: () => {
      beats += 1;
    },
    silent: () => {
      silences += 1;
    },
  };
  return new HeartBeat(ports, { sendMs, patienceMs });
}

describe('heart-beats', () => {
  test('are sent twice in the promised interval, unless something else was written', () => {
    const heartBeat = start(10_000, 0);
    clock.advance(20_000);
    expect(beats).toBe(4);
    clock.advance(4000);
    heartBeat.wrote();
    clock.advance(4000);
    expect(beats).toBe(4);
    clock.advance(1000);
    expect(beats).toBe(5);
  });

  test('are missed when nothing was heard for as long as the peer may be silent', () => {
    const heartBeat = start(0, 20_000);
    clock.advance(19_999);
    heartBeat.heard();
    clock.advance(19_999);
    expect(silences).toBe(0);
    clock.advance(1);
    expect(silences).toBe(1);
  });

  test('are not missed when it was us who stood still: what came meanwhile is read first', () => {
    const heartBeat = start(0, 20_000);
    clock.standStill(40_000);
    clock.advance(0);
    expect(silences).toBe(0);
    heartBeat.heard();
    clock.advance(19_999);
    expect(silences).toBe(0);
    clock.advance(1);
    expect(silences).toBe(1);
  });

  test.each([-3_600_000, 3_600_000])('are sent and missed at the same times when the clock is set by %d ms', (ms) => {
    start(10_000, 20_000);
    clock.advance(4000);
    clock.set(ms);
    clock.advance(1000);
    expect(beats).toBe(1);
    clock.advance(14_999);
    expect(silences).toBe(0);
    clock.advance(1);
    expect([beats, silences]).toEqual([4, 1]);
  });

  test('are not missed while nothing is read', () => {
    const heartBeat = start(0, 20_000);
    heartBeat.pause();
    clock.advance(60_000);
    heartBeat.resume();
    clock.advance(19_999);
    expect(silences).toBe(0);
    clock.advance(1);
    expect(silences).toBe(1);
  });

  test('are not listened for again after the end', () => {
    const heartBeat = start(0, 20_000);
    heartBeat.stop();
    heartBeat.resume();
    expect(clock.pending).toBe(0);
  });

  test('end with the connection', () => {
    start(10_000, 20_000).stop();
    clock.advance(60_000);
    expect([beats, silences, clock.pending]).toEqual([0, 0, 0]);
  });
});
