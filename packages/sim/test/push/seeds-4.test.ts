import { holdUnderFaults } from './seeds.js';

holdUnderFaults(1501, 2000);
