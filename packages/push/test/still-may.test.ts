import { expect, it } from 'vitest';
import { stillMay } from '../src/approvals/still-may.js';
import { MusterError } from '../src/errors.js';

const anna = { name: 'anna' };

it('answers what was found, or that they may not any more', async () => {
  expect(await stillMay(anna, async () => null)).toBeNull();
  expect(await stillMay(anna, async () => 'it was changed')).toBe('it was changed');
  const forbidden = () => Promise.reject(new MusterError('not_found', { kind: 'runbook', name: 'r' }));
  expect(await stillMay(anna, forbidden)).toBe('anna may not make or change it any more');
});

it('takes nobody for refused while the store is away', async () => {
  const away = new MusterError('store_unavailable', { reason: 'it is restarted' });
  await expect(stillMay(anna, () => Promise.reject(away))).rejects.toBe(away);
  const broken = new Error('broken');
  await expect(stillMay(anna, () => Promise.reject(broken))).rejects.toBe(broken);
});
