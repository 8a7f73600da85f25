import { MusterError } from '@muster/base/errors';
import type { Store } from '@muster/store';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { obstacle } from '../../src/recovery/conditions/index.js';
import { openRecovery, type RecoveryFixture } from '../support/recovery.js';

let fixture: RecoveryFixture;
beforeEach(async () => {
  fixture = await openRecovery();
});
afterEach(() => fixture.close());

test('a job that is blocked is found although the database was away when its reader was told of it', async () => {
  let away = false;
  const store: Store = {
    ...fixture.store,
    get read() {
      if (away) throw new MusterError('store_unavailable', { reason: 'played' });
      return fixture.store.read;
    },
  };
  fixture.readers = fixture.newReaders('there', store);
  await fixture.start();
  away = true;
  await fixture.blocked('j-007', obstacle('CONNECTION_FAILURE', 'hpc1 cannot be reached', { systemId: 'hpc1' }));
  await expect.poll(() => fixture.logged.some(({ text }) => text.includes('recovery was interrupted'))).toBe(true);
  away = false;
  fixture.jobs.clock.advance(2_000);
  await fixture.record({ attempts: 0 });
});
