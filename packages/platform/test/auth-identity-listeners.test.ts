import { expect, test } from 'vitest';
import { IdentityListeners } from '../src/auth/identity-listeners.js';

test('every layer hears that an organization is gone, also after one that failed', async () => {
  const listeners = new IdentityListeners();
  const told: string[] = [];
  listeners.add({ organizationRemoved: async () => Promise.reject(new Error('disk full')) });
  listeners.add({ nodeCreated: () => undefined });
  listeners.add({ organizationRemoved: (orgId) => void told.push(orgId) });
  await expect(listeners.organizationRemoved('o1')).rejects.toThrow('disk full');
  expect(told).toEqual(['o1']);
});
