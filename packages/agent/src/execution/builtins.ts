import type { Clock } from '@muster/base';
import type { Builtin, Facts } from '@muster/wire';

export interface BuiltinSurroundings {
  readonly clock: Clock;
  readonly random: () => number;
  readonly facts: () => Facts;
  /** Takes what the command writes to stdout. */
  readonly write: (text: string) => void;
}

/** Starts it; `done` is called once with the exit status, never after `cancel`. */
export function runBuiltin(
  builtin: Builtin,
  around: BuiltinSurroundings,
  done: (exitCode: number) => void,
): { cancel(): void } {
  switch (builtin.name) {
    case 'sleep':
      return around.clock.after(builtin.seconds * 1000, () => done(0));
    case 'dummy_job':
      return around.clock.after(builtin.seconds * 1000, () => done(around.random() < builtin.failProbability ? 1 : 0));
    case 'facts':
      return around.clock.after(0, () => {
        around.write(`${JSON.stringify(around.facts(), null, 2)}\n`);
        done(0);
      });
  }
}
