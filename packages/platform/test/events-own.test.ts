import { Type } from 'typebox';
import { expect, test } from 'vitest';
import { OwnEvents, readOwnEvent, typeOfOwn } from '../src/log/own-events.js';
import { ORG } from './support/event-log.js';

/** Events of Muster's own, as they are told and as layers read them again. */

const schema = { summary: '', attributes: Type.Object({}), data: Type.Object({}) };
const THINGS = new OwnEvents({ prefix: 'thing.', followers: null, schemas: { 'thing.start': schema } });

test('types are of the family', () => {
  const schemas = { 'other.start': schema };
  expect(() => new OwnEvents({ prefix: 'thing.', followers: null, schemas })).toThrow('not of the family thing.');
});

test('what is told is read again, whatever characters it has', () => {
  const attributes = { job: 'a:b', node: 'wö\\rld\n', seq: 7, absent: undefined };
  const data = { text: 'type:other\n', list: [1, null] };
  const { event } = THINGS.record('thing.start', ORG, attributes, data);
  expect(typeOfOwn(event)).toBe('thing.start');
  expect(readOwnEvent(event)).toEqual({
    type: 'thing.start',
    attributes: { job: 'a:b', node: 'wö\\rld\n', seq: '7', 'content-type': 'application/json' },
    data,
  });
});
