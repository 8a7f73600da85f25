import { holdUnderFaults } from './seeds.js';

holdUnderFaults(1001, 1500);
