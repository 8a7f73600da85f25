import { holdTasksUnderFaults } from './seeds.js';

holdTasksUnderFaults(1001, 2000);
