import { ManualClock } from '@muster/base';
import { expect, test } from 'vitest';
import { FileUnavailable } from '../../src/files/download.js';
import { fetchSecrets } from '../../src/files/secrets.js';
import { SECRET_RETRIES } from '../../src/limits.js';

const NEVER = new AbortController().signal;

/** The clock moves whenever somebody waits for it. */
function hurried(): ManualClock {
  const clock = new ManualClock();
  const after = clock.after.bind(clock);
  clock.after = (ms, due) => {
    const timer = after(ms, due);
    queueMicrotask(() => clock.advance(ms));
    return timer;
  };
  return clock;
}

test('secrets are asked for again while it may help, and not when the server refuses', async () => {
  let asked = 0;
  const at = (answer: () => Map<string, string>) => ({
    clock: hurried(),
    source: async () => {
      asked += 1;
      return answer();
    },
  });
  const later = at(() => {
    if (asked < 3) throw new Error('away');
    return new Map([['db', 'hunter2-hunter2']]);
  });
  expect(await fetchSecrets(later, 'j', ['db'], NEVER)).toEqual(new Map([['db', 'hunter2-hunter2']]));
  asked = 0;
  const refusing = at(() => {
    throw new FileUnavailable('no');
  });
  await expect(fetchSecrets(refusing, 'j', ['db'], NEVER)).rejects.toThrow('no');
  expect(asked).toBe(1);
  await expect(
    fetchSecrets(
      at(() => new Map()),
      'j',
      ['db'],
      NEVER,
    ),
  ).rejects.toThrow('does not give the secret db');
  asked = 0;
  const away = at(() => {
    throw new Error('away');
  });
  await expect(fetchSecrets(away, 'j', ['db'], NEVER)).rejects.toThrow('could not be fetched: away');
  expect(asked).toBe(SECRET_RETRIES + 1);
});
