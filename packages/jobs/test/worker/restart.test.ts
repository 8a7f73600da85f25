import { restartSuite } from '../suites/restart.js';
import { openWorkers } from '../support/worker-fixture.js';

restartSuite(openWorkers, { whole: true });
