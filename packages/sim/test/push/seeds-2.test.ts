import { holdPushUnderFaults } from './seeds.js';

holdPushUnderFaults(501, 1000);
