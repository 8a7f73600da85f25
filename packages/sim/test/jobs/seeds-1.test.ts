import { holdJobsUnderFaults } from './seeds.js';

holdJobsUnderFaults(1, 1000);
