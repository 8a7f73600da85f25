import { expect, it } from 'vitest';
import { Seats } from '../src/http/seats.js';

const busy = expect.objectContaining({ code: 'too_busy', status: 503 });

it('one principal holds so many streams, and others still find a place', () => {
  const seats = new Seats({ all: 10, perReader: 2 });
  const leave = seats.take('alice');
  seats.take('alice');
  expect(() => seats.take('alice')).toThrow(busy);
  seats.take('bob');
  leave();
  leave();
  seats.take('alice');
  expect(() => seats.take('alice')).toThrow(busy);
});

it('all together hold so many', () => {
  const seats = new Seats({ all: 3, perReader: 2 });
  const leave = seats.take('alice');
  seats.take('bob');
  seats.take('carol');
  expect(() => seats.take('dave')).toThrow(busy);
  leave();
  seats.take('dave');
});
