import { holdUnderFaults } from './seeds.js';

// 1001 to 1500 come to no node that is ready and becomes unavailable.
holdUnderFaults(2001, 2500);
