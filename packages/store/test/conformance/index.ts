import { describe } from 'vitest';
import { eventsSuite } from './events.js';
import { groupCommitSuite } from './group-commit.js';
import { migrationSuite } from './migration.js';
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
    migrationSuite(suite);
    statementsSuite(suite);
    eventsSuite(suite);
    groupCommitSuite(suite);
    outageSuite(suite);
    transactSuite(suite);
  });
}
