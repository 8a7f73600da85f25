import { holdPushUnderFaults } from './seeds.js';

holdPushUnderFaults(1501, 2000);
