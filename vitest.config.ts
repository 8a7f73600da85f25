import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // A commit takes seconds on a machine that does much else.
    expect: { poll: { timeout: 20_000 } },
    pool: 'forks',
    // One more than the processors of the smallest machine: end-to-end tests wait for most of their time.
    maxWorkers: 3,
    globalSetup: ['scripts/vitest-databases.ts'],
    setupFiles: ['scripts/vitest-seed.ts'],
    // The files of one worker share a process, but for those that say in their names that they must be alone: loading
    // the code again for each takes longer than most tests.
    isolate: false,
    projects: [
      { extends: true, test: { name: 'alone', include: ['packages/*/test/**/*.alone.test.ts'], isolate: true } },
      { extends: true, test: { name: 'e2e', include: ['e2e/**/*.test.ts'] } },
      { extends: true, test: { name: 'packages', include: ['packages/*/test/**/!(*.alone).test.ts'] } },
    ],
  },
});
