import { holdJobsUnderFaults } from './seeds.js';

holdJobsUnderFaults(1001, 2000);
