import { expect, test } from 'vitest';
import { encodeEvent, readOwnEvent, typeOfOwn } from '../src/log/own-event.js';
import { ORG } from './support/event-log.js';

/** Events of Muster's own, as they are told and as layers read them again. */

test('what is told is read again, whatever characters it has', () => {
  const attributes = { job: 'a:b', node: 'wö\\rld\n', seq: 7, absent: undefined };
  const data = { text: 'type:other\n', list: [1, null] };
  const { event } = encodeEvent('push.start', ORG, attributes, data);
  expect(typeOfOwn(event)).toBe('push.start');
  expect(readOwnEvent(event)).toEqual({
    type: 'push.start',
    attributes: { job: 'a:b', node: 'wö\\rld\n', seq: '7', 'content-type': 'application/json' },
    data,
  });
});
