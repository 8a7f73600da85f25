import { ManualClock, MusterError } from '@muster/base';
import { beforeEach, expect, test } from 'vitest';
import { EVERY_TYPE, type EventAccess } from '../src/event/access.js';
import { UpstreamLogins } from '../src/relay/logins/upstream-logins.js';
import { encodeFrame } from '../src/stomp/encode.js';
import { type Frame, frame, header } from '../src/stomp/frame.js';
import { FrameParser } from '../src/stomp/parser.js';

const access: EventAccess = {
  org: 'default',
  principal: 'default/client',
  kind: 'node',
  relay: false,
  publish: EVERY_TYPE,
  subscribe: EVERY_TYPE,
};

const grounds = 'a key';

let clock: ManualClock;
let logins: UpstreamLogins;
let sent: Frame[];
beforeEach(() => {
  clock = new ManualClock();
  logins = new UpstreamLogins(clock, 1000);
  sent = [];
});

const ask = (login = 'default/client') => logins.ask({ login, passcode: 'secret' }, (request) => sent.push(request));

/** What upstream says about a request; the last one when none is named. */
function answer(body: unknown, request = header(sent.at(-1) ?? frame('SEND', []), 'request') ?? ''): boolean {
  let taken = false;
  const limits = { headBytes: 4096, bodyBytes: 4096, headers: 16, headerNameBytes: 64 };
  const parser = new FrameParser(limits, {
    frame: (raw) => {
      taken = logins.answer(raw);
    },
  });
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  parser.push(encodeFrame(frame('MESSAGE', [['request', request]], Buffer.from(text))));
  return taken;
}

test('answers may come in any order', async () => {
  const [one, other] = [ask('default/one'), ask('default/other')];
  expect(answer({ access: { ...access, principal: 'default/other' }, grounds }, '2')).toBe(true);
  expect(answer({ access: { ...access, principal: 'default/one' }, grounds }, '1')).toBe(true);
  expect((await one).access.principal).toBe('default/one');
  expect((await other).access.principal).toBe('default/other');
});

test('an answer that nobody waits for is not taken', () => {
  expect(answer({ access, grounds }, '7')).toBe(false);
});

test.each([
  'no JSON',
  '[]',
  {},
  { access },
  { access: { ...access, org: 1 }, grounds },
  { access: { ...access, kind: 'client' }, grounds },
  { access: { ...access, publish: { granted: ['a'], restricted: [] } }, grounds },
  { access, grounds, expiresMs: 'soon' },
])('an answer that cannot be read (%j) refuses the login', async (body) => {
  const asked = ask();
  answer(body);
  await expect(asked).rejects.toMatchObject({ code: 'upstream_failed' });
});

test('a refusal is told as upstream has told it', async () => {
  const refused = ask();
  answer({ error: { code: 'login_refused', message: 'login refused' } });
  await expect(refused).rejects.toMatchObject({ code: 'login_refused' });
  const busy = ask();
  const details = { what: 'logins', limit: 5 };
  answer({ error: { code: 'too_busy', message: 'too many logins at once (limit 5)', details } });
  await expect(busy).rejects.toThrow('too many logins at once (limit 5)');
  const newer = ask();
  answer({ error: { code: 'of_tomorrow', message: 'not on Sundays' } });
  await expect(newer).rejects.toThrow('not on Sundays');
});

test('a login that is not answered in time is refused, and its answer then not taken', async () => {
  const asked = ask();
  clock.advance(1000);
  await expect(asked).rejects.toThrow('no answer about a login within 1 s');
  expect(answer({ access, grounds })).toBe(false);
});

test('as many logins as the limit says may wait', async () => {
  const waiting = Array.from({ length: 1000 }, () => ask());
  await expect(ask()).rejects.toMatchObject({ code: 'too_busy' });
  logins.fail(new MusterError('upstream_failed', { reason: 'gone' }));
  expect((await Promise.allSettled(waiting)).every(({ status }) => status === 'rejected')).toBe(true);
  expect(clock.pending).toBe(0);
});

test('what was withdrawn while the answer was on its way is not granted', async () => {
  const [one, other, later] = [ask(), ask(), ask()];
  logins.revoke({ org: 'default', principal: 'default/client', before: 6 });
  answer({ access, grounds, stamp: 5 }, '1');
  answer({ access: { ...access, principal: 'default/other' }, grounds, stamp: 5 }, '2');
  answer({ access, grounds, stamp: 6 }, '3');
  await expect(one).rejects.toMatchObject({ code: 'event_revoked' });
  expect((await other).access.principal).toBe('default/other');
  expect((await later).stamp).toBe(6);
  const next = ask();
  answer({ access, grounds, stamp: 5 });
  expect((await next).stamp).toBe(5);
});
