import { holdPushUnderFaults } from './seeds.js';

// 1001 to 1500 come to no node that is ready and becomes unavailable.
holdPushUnderFaults(2001, 2500);
