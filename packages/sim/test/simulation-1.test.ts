import { holdUnderFaults } from './support/seeds.js';

holdUnderFaults(1, 500);
