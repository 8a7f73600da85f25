import { holdUnderFaults } from './support/seeds.js';

holdUnderFaults(1501, 2000);
