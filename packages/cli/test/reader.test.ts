import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { endWithReader } from '../src/reader.js';

function ends(code: string): number[] {
  const exits: number[] = [];
  const stream = new EventEmitter();
  endWithReader([stream], (exit) => exits.push(exit));
  stream.emit('error', Object.assign(new Error('write'), { code }));
  return exits;
}

test('whose reader went away ends as by SIGPIPE, and not as if all was well', () => {
  expect(ends('EPIPE')).toEqual([141]);
});

test('what else cannot be written is a defect', () => {
  expect(() => ends('EIO')).toThrow('write');
});
