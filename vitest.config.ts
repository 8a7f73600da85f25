import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { built } from './scripts/vitest-built.js';

/** Tests on other people's services. */
const SERVICES = [
  'packages/broker/test/rabbitmq*.test.ts',
  'packages/jobs/test/rabbitmq.test.ts',
  'packages/jobs/test/systems/**/*.test.ts',
  'packages/store/test/postgres*.test.ts',
];

const SIMULATORS = 'packages/sim/test/**/*.test.ts';

/**
 * Files that are not to be run, by name or pattern, with spaces between. `--exclude` would not reach projects that exclude others
 * themselves.
 */
const WITHOUT = (process.env.MUSTER_TEST_WITHOUT ?? '').split(' ').filter((pattern) => pattern !== '');

/**
 * What takes longest, mostly waiting, begins first: begun last it would run alone at the end. Files of one project stay together, as they
 * share a process.
 */
const TURNS = [
  'jobs/test/systems/',
  'jobs/test/rabbitmq',
  'store/test/postgres',
  'broker/test/rabbitmq',
  'e2e/docs',
  'e2e/faults-',
  'e2e/crash.test.ts',
  'e2e/',
  'sim/test/',
];

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const turn = ({ moduleId }: TestSpecification): number => {
      const at = TURNS.findIndex((part) => moduleId.includes(part));
      return at < 0 ? TURNS.length : at;
    };
    return sorted.sort((a, b) => turn(a) - turn(b));
  }
}

export default defineConfig({
  plugins: [built()],
  test: {
    testTimeout: 180_000,
    hookTimeout: 240_000,
    // A commit takes seconds on a machine that does much else.
    expect: { poll: { timeout: 60_000 } },
    exclude: [...configDefaults.exclude, ...WITHOUT],
    pool: 'forks',
    // Much is made and soon forgotten: a young generation that begins small is looked through again and again.
    execArgv: ['--min-semi-space-size=32', '--max-semi-space-size=32'],
    // What is built is loaded by Node.js itself: made into modules of vitest first, it would load and run slower.
    server: { deps: { external: [/[/]packages[/][^/]+[/]dist[/]/] } },
    // Three more than the processors of the smallest machine, which that keeps busy, as most tests wait for others much of their time.
    maxWorkers: 5,
    reporters: ['default', './scripts/vitest-later-attempts.ts'],
    sequence: { sequencer: LongFirst },
    globalSetup: ['scripts/vitest-databases.ts', 'scripts/vitest-keys.ts'],
    // Of all but simulators, which run the same each time: on a busy machine clocks, kernels and services have races of their own.
    // Those that needed more attempts are named at the end, and are to be looked at.
    retry: 2,
    setupFiles: ['scripts/vitest-seed.ts'],
    // The files of one worker share a process, but for those that say in their names that they must be alone: loading
    // the code again for each takes longer than most tests.
    isolate: false,
    projects: [
      { extends: true, test: { name: 'alone', include: ['packages/*/test/**/*.alone.test.ts'], isolate: true } },
      {
        extends: true,
        test: { name: 'e2e', include: ['e2e/**/*.test.ts'], setupFiles: ['e2e/support/vitest-failures.ts'] },
      },
      { extends: true, test: { name: 'services', include: SERVICES } },
      {
        extends: true,
        test: {
          name: 'packages',
          include: ['packages/*/test/**/!(*.alone).test.ts'],
          exclude: [...SERVICES, SIMULATORS],
        },
      },
      { extends: true, test: { name: 'sim', include: [SIMULATORS], retry: 0, testTimeout: 600_000 } },
    ],
  },
});
