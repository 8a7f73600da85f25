import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type RelayEffect, type RelayEvent, type RelayState, startRelayMachine, step } from '../src/relay/machine.js';

const reason = 'connection reset';
const ready: RelayEvent = { type: 'ready' };
const unreachable: RelayEvent = { type: 'unreachable', reason };
const refused: RelayEvent = { type: 'refused', reason };
const lost: RelayEvent = { type: 'lost', reason, unconfirmed: false };
const lostUnderWay: RelayEvent = { type: 'lost', reason, unconfirmed: true };
const sendFailed: RelayEvent = { type: 'send_failed', reason };
const pauseOver: RelayEvent = { type: 'pause_over' };
const cleared: RelayEvent = { type: 'cleared' };
const listenFailed: RelayEvent = { type: 'listen_failed', reason };
const stop: RelayEvent = { type: 'stop' };
const EVENTS = [ready, unreachable, refused, lost, lostUnderWay, sendFailed, pauseOver, cleared, listenFailed, stop];

const START: RelayState = { kind: 'ping', probe: 'attempt', served: false };
const ATTEMPT: RelayState = { kind: 'ping', probe: 'attempt', served: true };
const PAUSE: RelayState = { kind: 'ping', probe: 'pause', served: true };
const SERVING: RelayState = { kind: 'serving' };
const DEGRADED: RelayState = { kind: 'degraded', probe: 'attempt' };
const DEGRADED_PAUSE: RelayState = { kind: 'degraded', probe: 'pause' };
const DROP: RelayState = { kind: 'drop' };
const STOPPED: RelayState = { kind: 'stopped' };

/** Every line: the rule, where it starts, what happens, where it ends, what is done. All other pairs change nothing. */
const LINES: readonly [rule: string, RelayState, RelayEvent, RelayState, ...RelayEffect['type'][]][] = [
  ['R-8: registered upstream, then clients are taken', START, ready, SERVING, 'use_upstream', 'listen'],
  ['R-4: an attempt that fails is followed by another', START, unreachable, { ...PAUSE, served: false }, 'pause'],
  ['a refused login at the start ends the relay', START, refused, STOPPED, 'fail'],
  ['R-8: after a drop clients are taken again', ATTEMPT, ready, SERVING, 'use_upstream', 'listen'],
  ['R-7: ping mode goes on', ATTEMPT, unreachable, PAUSE, 'pause'],
  ['R-4: a login that is refused later is tried again', ATTEMPT, refused, PAUSE, 'pause'],
  ['R-7: ping mode probes the server', PAUSE, pauseOver, ATTEMPT, 'connect'],
  ['R-10: clients stay when upstream is lost', SERVING, lost, DEGRADED_PAUSE, 'close_listeners', 'pause'],
  ['R-5: what was under way has failed', SERVING, lostUnderWay, DROP, 'close_listeners', 'cut_clients'],
  ['R-6: a failed message cuts all', SERVING, sendFailed, DROP, 'hang_up', 'close_listeners', 'cut_clients'],
  [
    'R-4: back again, registered again; R-10: clients learn of the gap',
    DEGRADED,
    ready,
    SERVING,
    'use_upstream',
    'tell_gap',
    'listen',
  ],
  ['R-10: clients stay however long it takes', DEGRADED, unreachable, DEGRADED_PAUSE, 'pause'],
  ['R-10: clients stay when upstream refuses', DEGRADED, refused, DEGRADED_PAUSE, 'pause'],
  ['R-4: the next attempt', DEGRADED_PAUSE, pauseOver, DEGRADED, 'connect'],
  ['R-5: no connection is a failure', DEGRADED_PAUSE, sendFailed, DROP, 'end_pause', 'close_listeners', 'cut_clients'],
  ['R-5: half a connection is a failure', DEGRADED, sendFailed, DROP, 'hang_up', 'close_listeners', 'cut_clients'],
  ['R-7: from the drop into ping mode', DROP, cleared, PAUSE, 'pause'],
  ...([START, ATTEMPT, DEGRADED, SERVING, DROP] as const).flatMap((from): typeof LINES => [
    ['a stop ends everything', from, stop, STOPPED, 'close_listeners', 'cut_clients', 'hang_up'],
    ['no port, no relay', from, listenFailed, STOPPED, 'close_listeners', 'cut_clients', 'hang_up', 'fail'],
  ]),
  ...([PAUSE, DEGRADED_PAUSE] as const).flatMap((from): typeof LINES => [
    ['a stop ends everything', from, stop, STOPPED, 'close_listeners', 'cut_clients', 'end_pause'],
    ['no port, no relay', from, listenFailed, STOPPED, 'close_listeners', 'cut_clients', 'end_pause', 'fail'],
  ]),
];

const name = (state: RelayState) => ('probe' in state ? `${state.kind}/${state.probe}` : state.kind);

describe('the relay machine', () => {
  test('starts with one attempt to reach upstream and listens for nobody (O-12)', () => {
    expect(startRelayMachine).toEqual({ state: START, effects: [{ type: 'connect' }] });
  });

  test.each(LINES.map((line) => [`${line[0]} (${name(line[1])}, ${line[2].type})`, line] as const))('%s', (_, line) => {
    const [, from, event, expected, ...effects] = line;
    const { state, effects: done } = step(from, event);
    expect(state).toEqual(expected);
    expect(done.map((effect) => effect.type)).toEqual(effects);
  });

  test('any other event changes nothing', () => {
    for (const from of [START, ATTEMPT, PAUSE, SERVING, DEGRADED, DEGRADED_PAUSE, DROP, STOPPED]) {
      for (const event of EVENTS) {
        if (LINES.some(([, state, known]) => state === from && known === event)) continue;
        expect(step(from, event), `${name(from)}, ${event.type}`).toEqual({ state: from, effects: [] });
      }
    }
  });

  test('says to the clients why they are cut', () => {
    expect(step(SERVING, sendFailed).effects).toContainEqual({ type: 'cut_clients', cause: 'upstream_failed', reason });
    expect(step(SERVING, stop).effects).toContainEqual({
      type: 'cut_clients',
      cause: 'stopping',
      reason: 'the relay is stopping',
    });
  });
});

/** What the effects amount to in the world outside. */
class World {
  link: 'none' | 'attempt' | 'ready' = 'none';
  pausing = false;
  listening = false;
  clients = false;
  failed = false;

  /** Events that this world can bring about. */
  possible(event: RelayEvent): boolean {
    switch (event.type) {
      case 'ready':
      case 'unreachable':
      case 'refused':
        return this.link === 'attempt';
      case 'lost':
        return this.link === 'ready';
      case 'pause_over':
        return this.pausing;
      case 'send_failed':
        return this.clients;
      case 'listen_failed':
        return this.listening;
      default:
        return true;
    }
  }

  happens(event: RelayEvent): void {
    if (event.type === 'ready') this.link = 'ready';
    if (event.type === 'unreachable' || event.type === 'refused' || event.type === 'lost') this.link = 'none';
    if (event.type === 'pause_over') this.pausing = false;
  }

  do(effect: RelayEffect): void {
    switch (effect.type) {
      case 'connect':
        expect(this.link, 'one upstream connection at most').toBe('none');
        this.link = 'attempt';
        return;
      case 'hang_up':
        this.link = 'none';
        return;
      case 'pause':
        expect(this.pausing, 'one timer at most').toBe(false);
        this.pausing = true;
        return;
      case 'end_pause':
        this.pausing = false;
        return;
      case 'listen':
        expect(this.link, 'R-8').toBe('ready');
        this.listening = true;
        return;
      case 'close_listeners':
        this.listening = false;
        return;
      case 'cut_clients':
        this.clients = false;
        return;
      case 'fail':
        this.failed = true;
        return;
      case 'use_upstream':
        expect(this.link).toBe('ready');
    }
  }
}

test('R-1 to R-11 hold whatever happens in whatever order', () => {
  const events = fc.array(fc.constantFrom(...EVENTS, ready, ready, pauseOver, pauseOver), { maxLength: 60 });
  fc.assert(
    fc.property(events, (happening) => {
      const world = new World();
      let { state, effects } = startRelayMachine;
      for (const effect of effects) world.do(effect);
      for (const event of happening) {
        if (!world.possible(event)) continue;
        const before = { ...world };
        world.happens(event);
        ({ state, effects } = step(state, event));
        for (const effect of effects) world.do(effect);
        if (world.listening) world.clients = true;

        expect(world.listening, 'R-7, R-8, O-13: listens exactly while serving').toBe(state.kind === 'serving');
        if (state.kind === 'stopped') {
          expect([world.link, world.pausing, world.clients]).toEqual(['none', false, false]);
          continue;
        }
        if (state.kind !== 'drop') {
          expect(world.pausing || world.link !== 'none', 'R-4: never without a next attempt').toBe(true);
        }
        if (before.clients && !world.clients) {
          const failed = event.type === 'send_failed' || (event.type === 'lost' && event.unconfirmed);
          expect(failed, 'R-10: clients are cut only when a message failed').toBe(true);
        }
      }
    }),
    { numRuns: 2000 },
  );
});
