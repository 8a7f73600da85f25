import { ManualClock } from '@muster/base';
import { expect, it } from 'vitest';
import { type Ground, Standing } from '../src/auth/standing.js';

const GROUND: Ground = {
  identity: { principalId: 'p1', type: 'user', name: 'alice', serverAdmin: false, publicKey: 'pem' },
  credential: { kind: 'key', pem: 'pem', expiresMs: null },
  organization: null,
  permission: 'member',
  subject: undefined,
};

/** A look at what an earlier change has left ends somewhere among these moments. */
it.each([0, 1, 2, 3, 4, 5, 6, 7])(
  'a right that is lost %i moments after another change is seen to be lost',
  async (moments) => {
    let changed: (scope: 'anything') => void = () => undefined;
    let stands = true;
    const standing = new Standing({
      repository: {
        onChanged(listener) {
          changed = listener;
          return () => undefined;
        },
      },
      clock: new ManualClock(),
      stands: async () => stands,
      failed: (error) => expect.fail(String(error)),
    });
    let lost = 0;
    standing.watch(GROUND, standing.changes, () => {
      lost += 1;
    });
    changed('anything');
    for (let moment = 0; moment < moments; moment++) await Promise.resolve();
    stands = false;
    changed('anything');
    await new Promise(setImmediate);
    expect(lost).toBe(1);
  },
);
