import { describe } from 'vitest';
import { eventsSuite } from './events.js';
import { groupCommitSuite } from './group-commit.js';
import { guardsSuite } from './guards.js';
import { hintsSuite } from './hints.js';
import { leasesSuite } from './leases.js';
import { numbersSuite } from './numbers.js';
import { outageSuite } from './outage.js';
import { schemaSuite } from './schema.js';
import { statementsSuite } from './statements.js';
import { createSuite, type Harness } from './suite.js';
import { transactSuite } from './transact.js';

/** What both databases must do alike. */
export function describeStore(kind: 'sqlite' | 'postgres', make: () => Promise<Harness>): void {
  describe(`a ${kind} store`, () => {
    const suite = createSuite(make);
    schemaSuite(suite);
    statementsSuite(suite);
    eventsSuite(suite);
    groupCommitSuite(suite);
    guardsSuite(suite);
    numbersSuite(suite);
    leasesSuite(suite);
    hintsSuite(suite);
    outageSuite(suite);
    transactSuite(suite);
  });
}
