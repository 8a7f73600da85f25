import { holdTasksUnderFaults } from './seeds.js';

holdTasksUnderFaults(1, 1000);
