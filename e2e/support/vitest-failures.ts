import { afterAll, beforeEach } from 'vitest';
import { endsOfLogs, forgetEnded, forgetLogs } from './logs.js';
import { settleServers } from './pushy-server.js';

/**
 * Before every end-to-end test file. A test that fails shows what the processes that it was about have logged, and does not fail
 * its followers, nor its own next attempt, by what it has left unfinished.
 */
beforeEach(({ onTestFailed }) => {
  forgetEnded();
  const begun = new Date();
  onTestFailed(async ({ task }) => {
    console.error(`what was logged until this failed: ${task.name}\n${endsOfLogs()}`);
    for (const problem of await settleServers(begun)) console.error(`not settled: ${problem}`);
  });
});

// biome-ignore lint/correctness/noEmptyPattern: vitest reads from it which fixtures are used
afterAll(({}, suite) => {
  // The tests themselves have told of their failures.
  if (suite.result?.state === 'fail') console.error(`what was logged until ${suite.name} failed:\n${endsOfLogs()}`);
  forgetLogs();
});
