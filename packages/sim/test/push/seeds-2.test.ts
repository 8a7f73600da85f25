import { holdUnderFaults } from './seeds.js';

holdUnderFaults(501, 1000);
