import { ManualClock } from '@muster/base';
import { MemoryCursors, MemoryLog } from '../support/memory-ports.js';
import { cursorsConformance, logConformance } from '../support/ports-conformance.js';

logConformance('the log in memory', async () => {
  const clock = new ManualClock();
  return {
    log: new MemoryLog(clock),
    org: 'default',
    otherOrg: 'other',
    advance: (ms) => clock.advance(ms),
    now: () => clock.now(),
  };
});

cursorsConformance('the cursors in memory', async () => ({
  cursors: new MemoryCursors(),
  org: 'default',
  otherOrg: 'other',
}));
