import { RARE_IN_STORES } from '../../src/store/rare.js';
import { simulateStore } from '../../src/store/run.js';
import { holdUnderFaults } from '../kernel/hold.js';

const STORES = {
  about: 'a store keeps its promises whatever its database does',
  simulate: simulateStore,
  rare: RARE_IN_STORES,
  flags: ' --store',
  perTest: 50,
};

holdUnderFaults(STORES, 1, 200);
