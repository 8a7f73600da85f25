import { holdUnderFaults } from './seeds.js';

holdUnderFaults(1, 500);
