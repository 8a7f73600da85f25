import { holdUnderFaults } from './support/seeds.js';

holdUnderFaults(1001, 1500);
