import { isDeepStrictEqual } from 'node:util';
import type { Asked, Rule } from './types.js';

/** Whether a rule would be another one than the one to which others may have agreed: to switch it off and on again is not. */
export function isAnother(before: Rule, { enabled: _, ...asked }: Partial<Asked>, principalId: string): boolean {
  if (before.owner.principalId !== principalId) return true;
  return Object.entries(asked).some(([name, value]) => !isDeepStrictEqual(value, before[name as keyof Asked]));
}
