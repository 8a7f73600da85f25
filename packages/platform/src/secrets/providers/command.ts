import { execFile } from 'node:child_process';
import { SECRET_LIMITS } from '../limits.js';
import type { CommandDefinition } from './definition.js';
import { PROVIDER_LIMITS } from './limits.js';
import { ProviderRefusal, type SecretProvider, type Wanted } from './types.js';

/** The value with a line end, which is not part of it. */
const MOST_BYTES = SECRET_LIMITS.mostBytes + 2;

/**
 * A program that prints the value: run without a shell, with the arguments of the configuration, ended when it takes too long or prints too
 * much. What it writes to stderr is not told: it may hold what is secret.
 */
export function commandProvider({ command, timeout = PROVIDER_LIMITS.seconds }: CommandDefinition): SecretProvider {
  const [program = '', ...args] = command;
  return {
    fetch: (wanted) =>
      new Promise((done, failed) => {
        const options = { timeout: timeout * 1000, killSignal: 'SIGKILL', maxBuffer: MOST_BYTES } as const;
        const child = execFile(program, filled(args, wanted), { ...options, encoding: 'utf8' }, (error, stdout) => {
          if (error === null) return done(stdout.replace(/\r?\n$/, ''));
          return failed(new ProviderRefusal(`${program} ${why(error, timeout)}`));
        });
        child.stdin?.on('error', () => {});
        child.stdin?.end();
      }),
  };
}

function filled(args: readonly string[], { organization, reference }: Wanted): string[] {
  const values: Readonly<Record<string, string>> = { '{organization}': organization, '{reference}': reference };
  return args.map((arg) => arg.replace(/\{(?:organization|reference)\}/g, (name) => values[name] ?? name));
}

/** Its message is that of the command line, with the reference, and stderr: neither is told. */
function why(error: Error & { readonly code?: number | string | null; readonly killed?: boolean }, timeout: number) {
  if (error.code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return `printed more than ${SECRET_LIMITS.mostBytes} bytes`;
  if (error.code === 'ENOENT') return 'is not there';
  if (error.code === 'EACCES') return 'may not be run';
  if (error.killed === true) return `did not end within ${timeout} s`;
  return typeof error.code === 'number' ? `ended with exit code ${error.code}` : 'could not be run';
}
