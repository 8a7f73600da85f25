import { describe } from 'vitest';
import { deliverySuite } from './delivery.js';
import { handOverSuite } from './hand-over.js';
import { publishSuite } from './publish.js';
import { createSuite, type Harness } from './suite.js';
import { topicSuite } from './topic.js';
import { topologySuite } from './topology.js';

/** What both brokers must do alike. */
export function describeBroker(kind: 'embedded' | 'rabbitmq', make: () => Promise<Harness>): void {
  describe(`a broker, ${kind}`, () => {
    const suite = createSuite(make);
    topologySuite(suite);
    publishSuite(suite);
    deliverySuite(suite);
    handOverSuite(suite);
    topicSuite(suite);
  });
}
