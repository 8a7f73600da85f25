import { PassThrough } from 'node:stream';
import type { Sink, World } from '../../src/world.js';

export interface TestWorld extends World {
  readonly out: () => string;
  readonly err: () => string;
  /** What a person types. */
  readonly type: (text: string) => void;
  /** All that comes on stdin. */
  readonly pipe: (text: string) => void;
  readonly signal: (name: NodeJS.Signals) => void;
}

/** A process around a command, in memory. `terminal` makes all three streams a terminal. */
export function testWorld(
  options: {
    readonly env?: Readonly<Record<string, string | undefined>>;
    readonly cwd?: string;
    readonly terminal?: boolean;
    readonly now?: () => number;
  } = {},
): TestWorld {
  const terminal = options.terminal === true;
  const written = { out: '', err: '' };
  const sink = (to: 'out' | 'err'): Sink => ({
    isTTY: terminal,
    columns: 80,
    write(data) {
      written[to] += typeof data === 'string' ? data : Buffer.from(data).toString('utf8');
      return true;
    },
  });
  const stdin = Object.assign(new PassThrough(), { isTTY: terminal });
  const handlers = new Set<(signal: NodeJS.Signals) => void>();
  return {
    env: options.env ?? {},
    cwd: options.cwd ?? '/',
    stdout: sink('out'),
    stderr: sink('err'),
    stdin,
    onSignal(signals, handler) {
      const matching = (signal: NodeJS.Signals) => signals.includes(signal) && handler(signal);
      handlers.add(matching);
      return () => handlers.delete(matching);
    },
    now: options.now ?? (() => Date.now()),
    out: () => written.out,
    err: () => written.err,
    type: (text) => void stdin.write(text),
    pipe: (text) => void stdin.end(text),
    signal: (name) => {
      for (const handler of [...handlers]) handler(name);
    },
  };
}
