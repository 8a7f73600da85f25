import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Plugins of both kinds that do one thing first: append a line `ID ATTEMPT` to the file of their node. Then they take as long
 * as the parameter `seconds` says.
 */
export class TaskLines {
  readonly #dir: string;

  constructor(dir: string) {
    this.#dir = join(dir, 'lines');
    mkdirSync(this.#dir);
    writeFileSync(join(this.#dir, 'append.sh'), PROGRAM);
    chmodSync(join(this.#dir, 'append.sh'), 0o755);
    writeFileSync(join(this.#dir, 'append.mjs'), MODULE);
  }

  /** `program` and `module`, as the configuration of this node has them. */
  plugins(node: string): Readonly<Record<string, unknown>> {
    const environment = { LINES: join(this.#dir, `${node}.txt`) };
    return {
      program: { program: join(this.#dir, 'append.sh'), args: ['{seconds}'], environment },
      module: { module: join(this.#dir, 'append.mjs'), concurrency: 4, environment },
    };
  }

  /** Of all nodes: each `ID ATTEMPT`, as often as it was written. */
  read(): readonly string[] {
    return readdirSync(this.#dir)
      .filter((name) => name.endsWith('.txt'))
      .flatMap((name) => this.#linesOf(join(this.#dir, name)));
  }

  #linesOf(file: string): readonly string[] {
    return existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : [];
  }
}

const PROGRAM = `#!/bin/sh
echo "$MUSTER_TASK_ID $MUSTER_TASK_ATTEMPT" >> "$LINES"
exec sleep "$1"
`;

const MODULE = `import { appendFileSync } from 'node:fs';

export async function run({ id, attempt, params }, { signal }) {
  appendFileSync(process.env.LINES, \`\${id} \${attempt}\\n\`);
  await new Promise((resolve) => {
    const timer = setTimeout(resolve, params.seconds * 1000);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
`;
