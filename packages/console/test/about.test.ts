import { describe, expect, it } from 'vitest';
import { aboutWhat, narrowings } from '../src/events/about.js';
import type { LiveEvent } from '../src/live/event.js';

function event(type: string, attributes: LiveEvent['attributes']): LiveEvent {
  return { position: 1, type, at: 0, source: "default/o'neill", attributes, contentType: null, body: '' };
}

describe('an event', () => {
  it.each([
    ['push.run_complete', { name: 'job', id: '3f' }],
    ['job.running', { name: 'long-job', id: '3f' }],
  ])('of the type %s leads to its job', (type, screen) => {
    expect(aboutWhat(event(type, [['job', '3f']]))).toEqual([{ word: 'job', screen }]);
  });

  it('that somebody else published leads to no job, whatever it is called there', () => {
    expect(aboutWhat(event('print.begun', [['job', '3f']]))).toEqual([]);
  });

  it('has something in common with others, in words that a selector takes', () => {
    const found = narrowings(
      event('task.ended', [
        ['queue', 'q1'],
        ['node', 'web1'],
      ]),
    );
    expect(found).toEqual([
      { word: 'node', q: "node = 'web1'" },
      { word: 'queue', q: "queue = 'q1'" },
      { word: 'source', q: "source = 'default/o''neill'" },
      { word: 'type', q: "type = 'task.ended'" },
    ]);
  });
});
