import { MusterError } from '@muster/base';
import { frame, type Headers } from '@muster/fabric';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  agree,
  CONNECTING,
  negotiate,
  type SessionEffect,
  type SessionEvent,
  type SessionState,
  step,
} from '../../src/session/machine.js';

const RULES = { idleMs: 30_000, anonymous: false };
const error = new MusterError('internal');
const LOGIN: Headers = [
  ['accept-version', '1.0,1.1,1.2'],
  ['host', 'x'],
  ['login', 'default/alice'],
  ['passcode', 'secret'],
];

const sent = (command: string, headers: Headers = []): SessionEvent => ({
  type: 'frame',
  frame: frame(command, headers),
});
const connect = sent('CONNECT', LOGIN);
const accepted: SessionEvent = { type: 'accepted' };
const refused: SessionEvent = { type: 'refused', error, receipt: null };
const loginTimeout: SessionEvent = { type: 'login_timeout' };
const settled: SessionEvent = { type: 'settled' };
const cut: SessionEvent = { type: 'cut', error };
const destroyed: SessionEvent = { type: 'destroyed' };
const channelClosed: SessionEvent = { type: 'channel_closed' };

const AUTHENTICATING: SessionState = { kind: 'authenticating', version: '1.2', heartBeat: { sendMs: 0, expectMs: 0 } };
const CONNECTED: SessionState = { kind: 'connected' };
const DISCONNECTING: SessionState = { kind: 'disconnecting', receipt: 'bye' };
const CLOSING: SessionState = { kind: 'closing' };
const CLOSED: SessionState = { kind: 'closed' };
const STATES = [CONNECTING, AUTHENTICATING, CONNECTED, DISCONNECTING, CLOSING, CLOSED];
const EVENTS = [connect, sent('SEND'), accepted, refused, loginTimeout, settled, cut, destroyed, channelClosed];

const ENDING: SessionEffect['type'][] = ['stop_login_timer', 'error', 'release', 'end'];

/** Every line: what it says, where it starts, what happens, where it ends, what is done. */
const LINES: readonly [rule: string, SessionState, SessionEvent, SessionState['kind'], ...SessionEffect['type'][]][] = [
  ['CONNECT has the login checked', CONNECTING, connect, 'authenticating', 'authenticate'],
  ['STOMP is the same', CONNECTING, sent('STOMP', LOGIN), 'authenticating', 'authenticate'],
  ['any other first frame ends it', CONNECTING, sent('SEND'), 'closing', ...ENDING],
  ['who says nothing is sent away', CONNECTING, loginTimeout, 'closing', ...ENDING],
  ['what is no STOMP ends it', CONNECTING, refused, 'closing', ...ENDING],
  ['who is known is let in', AUTHENTICATING, accepted, 'connected', 'stop_login_timer', 'connected'],
  ['who is not known is sent away', AUTHENTICATING, refused, 'closing', ...ENDING],
  ['a login that cannot be checked in time ends it', AUTHENTICATING, loginTimeout, 'closing', ...ENDING],
  ...['SEND', 'SUBSCRIBE', 'UNSUBSCRIBE', 'ACK', 'NACK', 'BEGIN', 'COMMIT', 'ABORT'].map(
    (command) =>
      [`${command} is done in an open session`, CONNECTED, sent(command), 'connected', 'execute'] as [
        string,
        SessionState,
        SessionEvent,
        SessionState['kind'],
        SessionEffect['type'],
      ],
  ),
  ['a second CONNECT ends it', CONNECTED, connect, 'closing', ...ENDING],
  ['a frame for servers ends it', CONNECTED, sent('RECEIPT'), 'closing', ...ENDING],
  ['DISCONNECT waits for the events before it', CONNECTED, sent('DISCONNECT'), 'disconnecting', 'release', 'settle'],
  ['what is refused ends it', CONNECTED, refused, 'closing', ...ENDING],
  ['the broker may end it', CONNECTED, cut, 'closing', ...ENDING],
  ['DISCONNECT is answered when they are stored', DISCONNECTING, settled, 'closing', 'receipt', 'end'],
  ['without a receipt it just ends', { ...DISCONNECTING, receipt: null }, settled, 'closing', 'end'],
  ['an event that could not be stored is told even then', DISCONNECTING, refused, 'closing', ...ENDING],
  ['a frame after DISCONNECT is not looked at', DISCONNECTING, sent('SEND'), 'disconnecting'],
  ['after the last frame nothing matters', CLOSING, refused, 'closing'],
];

describe('the life of a session', () => {
  test.for(LINES)('%s', async ([, state, event, kind, ...effects]) => {
    const next = step(state, event, RULES);
    expect(next.state.kind).toBe(kind);
    expect(next.effects.map(({ type }) => type)).toEqual(effects);
  });

  test.for(STATES.slice(0, -1))('a closed channel ends it, whatever it was doing: $kind', (state) => {
    expect(step(state, channelClosed, RULES).state).toEqual(CLOSED);
    const { effects, state: next } = step(state, destroyed, RULES);
    expect(next).toEqual(CLOSED);
    expect(effects.at(-1)).toEqual({ type: 'destroy' });
  });

  test('no order of events lets anything be done before the login or after the end', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...EVENTS), { maxLength: 12 }), (events) => {
        let state: SessionState = CONNECTING;
        let open = false;
        let errors = 0;
        for (const event of events) {
          const before: SessionState['kind'] = state.kind;
          const next = step(state, event, RULES);
          for (const { type } of next.effects) {
            if (type === 'connected') open = true;
            if (type === 'execute') expect(open && before === 'connected').toBe(true);
            if (type === 'error') errors += 1;
          }
          if (before === 'closed') expect(next).toEqual({ state: CLOSED, effects: [] });
          state = next.state;
        }
        expect(errors).toBeLessThan(2);
      }),
    );
  });

  test('the highest version in common is spoken; who names none speaks 1.0', () => {
    expect(negotiate('1.0,1.1,1.2,2.0')).toBe('1.2');
    expect(negotiate('1.1, 1.0')).toBe('1.1');
    expect(negotiate('1.3')).toBeNull();
    const old = step(CONNECTING, sent('CONNECT', LOGIN.slice(1)), RULES);
    expect(old.state).toMatchObject({ kind: 'authenticating', version: '1.0' });
  });

  test('heart-beats are as slow as the slower of both wants them, each way', () => {
    expect(agree('0,0', 30_000)).toEqual({ sendMs: 0, expectMs: 0 });
    expect(agree('10000,60000', 30_000)).toEqual({ sendMs: 60_000, expectMs: 30_000 });
    expect(agree(' 5 , 0 ', 30_000)).toEqual({ sendMs: 0, expectMs: 30_000 });
    expect(agree('1,1', 0)).toEqual({ sendMs: 0, expectMs: 0 });
    for (const wrong of ['', '1', '1,2,3', '-1,0', 'a,b', '1.5,0']) expect(agree(wrong, 30_000)).toBeNull();
  });

  test('where nobody logs in, login and passcode may be left out', () => {
    const next = step(CONNECTING, sent('CONNECT', LOGIN.slice(0, 1)), { ...RULES, anonymous: true });
    expect(next.effects).toEqual([
      {
        type: 'authenticate',
        version: '1.2',
        refusedBy: 'error',
        sendMs: null,
        asksRights: false,
        login: '',
        passcode: '',
      },
    ]);
  });
});
