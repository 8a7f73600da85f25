import { lifecycleSuite } from '../suites/lifecycle.js';
import { openWorkers } from '../support/worker-fixture.js';

lifecycleSuite(openWorkers);
