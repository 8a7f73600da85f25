import type { Reporter, TestModule } from 'vitest/node';

/** Says which tests passed only when they were run again: each is a defect, of the test or of what it tests. */
export default class LaterAttempts implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const { flaky = false, retryCount = 0 } = test.diagnostic() ?? {};
        if (!flaky) continue;
        const [error] = test.result().errors ?? [];
        console.log(
          `passed at attempt ${retryCount + 1}: ${module.relativeModuleId} > ${test.fullName}: ${error?.message ?? ''}`,
        );
      }
    }
  }
}
