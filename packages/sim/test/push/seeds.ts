import { describe } from 'vitest';
import { RARE } from '../../src/push/rare.js';
import { simulate } from '../../src/push/run.js';
import { holdUnderFaults } from '../kernel/hold.js';

const PUSH = { simulate, rare: RARE, flags: '', perTest: 50 };

export function holdPushUnderFaults(first: number, last: number): void {
  describe('push jobs keep their promises under every fault', () => holdUnderFaults(PUSH, first, last));
}
