import { strayReadersSuite } from '../suites/stray-readers.js';
import { embeddedBrokers } from '../support/brokers.js';

strayReadersSuite(embeddedBrokers);
