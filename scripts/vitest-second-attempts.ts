import type { Reporter, TestModule } from 'vitest/node';

/** Says which tests passed only when they were run a second time: each is a defect, of the test or of what it tests. */
export default class SecondAttempts implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        if (!test.diagnostic()?.flaky) continue;
        const [error] = test.result().errors ?? [];
        console.log(
          `passed at the second attempt: ${module.relativeModuleId} > ${test.fullName}: ${error?.message ?? ''}`,
        );
      }
    }
  }
}
