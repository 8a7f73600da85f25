import { expect, test } from 'vitest';
import { saidText, timeText } from '../src/summary.js';

test('what the server says is told with times as clocks here show them', () => {
  const [from, until] = ['2026-11-30T17:08:58Z', '2026-11-30T17:08:58.250Z'];
  expect(saidText(`Job a is voting since ${from} (3 s ago), at the latest ${until}: 1 vote missing.`)).toBe(
    `Job a is voting since ${timeText(from)} (3 s ago), at the latest ${timeText(until)}: 1 vote missing.`,
  );
  expect(saidText('a\u001bb 2026-11-30')).toBe('a\\x1bb 2026-11-30');
});
