import { holdUnderFaults } from './support/seeds.js';

holdUnderFaults(501, 1000);
