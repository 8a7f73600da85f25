import { describe } from 'vitest';
import { RARE_IN_STORES } from '../../src/store/rare.js';
import { simulateStore } from '../../src/store/run.js';
import { holdUnderFaults } from '../kernel/hold.js';

const STORES = {
  simulate: simulateStore,
  rare: RARE_IN_STORES,
  flags: ' --store',
  perTest: 50,
};

describe('a store keeps its promises whatever its database does', () => holdUnderFaults(STORES, 1, 200));
