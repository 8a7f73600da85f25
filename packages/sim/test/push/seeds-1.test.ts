import { holdPushUnderFaults } from './seeds.js';

holdPushUnderFaults(1, 500);
