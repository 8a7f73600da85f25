import { expect, it } from 'vitest';
import { ApiError } from '../src/api/errors.js';
import type { Live } from '../src/live/connection.js';
import { Snapshot } from '../src/live/snapshot.js';

const LIVE = { follow: () => () => {} } as unknown as Live;

function snapshot(before: string | undefined, load: () => Promise<{ value: string; position: number }>) {
  return new Snapshot<string>({
    live: LIVE,
    selector: null,
    load,
    apply: (state) => state,
    before: before === undefined ? undefined : { value: before },
  });
}

const refusal = () => Promise.reject(new ApiError(400, 'invalid_field', 'Invalid q'));

it('shows what was there before while the server refuses what is asked for, and says why', async () => {
  const kept = snapshot('before', refusal);
  await expect.poll(() => kept.refused.value?.message).toBe('Invalid q');
  expect(kept.loaded.value).toEqual({ state: 'ready', value: 'before' });
});

it('says only why where nothing was there before', async () => {
  const kept = snapshot(undefined, refusal);
  await expect.poll(() => kept.loaded.value.state).toBe('failed');
  expect(kept.refused.value).toBeNull();
});

it('shows what was read, whatever a later reading meets', async () => {
  const answers = [Promise.resolve({ value: 'read', position: 1 })];
  const kept = snapshot('before', () => answers.shift() ?? refusal());
  await expect.poll(() => kept.loaded.value).toEqual({ state: 'ready', value: 'read' });
  await kept.reload();
  expect(kept.refused.value).toBeNull();
  expect(kept.loaded.value).toEqual({ state: 'ready', value: 'read' });
});
