import { describe, expect, it } from 'vitest';
import { EMPTY_DRAFT, publishCommand, readDraft } from '../src/events/new-event.js';

const NOW = Date.parse('2026-11-20T12:00:00Z');

describe('an event that is written down', () => {
  it('keeps the order of its attributes, and is published now unless it says when', () => {
    const draft = { ...EMPTY_DRAFT, type: ' temp.high ', attributes: 'host=db1\n\n celsius = 81=x', body: 'hot\n' };
    expect(readDraft(draft, NOW)).toEqual({
      event: {
        type: 'temp.high',
        attributes: [
          ['host', 'db1'],
          ['celsius', '81=x'],
        ],
        body: 'hot\n',
      },
      wrong: {},
    });
  });

  it.each([
    ['+10m', NOW + 600_000],
    ['2026-11-20T13:00:00Z', NOW + 3_600_000],
  ])('says with %s when', (at, ms) => {
    expect(readDraft({ ...EMPTY_DRAFT, type: 'a', at }, NOW).event.at).toBe(ms);
  });

  it('is told what cannot be read', () => {
    const { wrong } = readDraft({ ...EMPTY_DRAFT, type: 'a', attributes: 'a=1\nb', at: 'noon' }, NOW);
    expect(wrong.attributes).toBe('Line 2 must be name=value.');
    expect(wrong.at).toContain('+10m');
  });

  it('has its command', () => {
    const draft = { type: 'temp.high', attributes: 'host=db 1', body: "it's hot", at: '+10m' };
    expect(publishCommand(draft)).toBe(
      `muster event publish temp.high --attr 'host=db 1' --body 'it'\\''s hot' --at +10m`,
    );
    expect(publishCommand(EMPTY_DRAFT)).toBe('muster event publish TYPE');
  });
});
