import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { SYSTEM_HELPER } from '../../../dist/systems/agent/helper-program.js';
import type { AgentReach } from '../../../src/systems/agent/types.js';

/** Helpers as an agent starts them, each a process; without an agent between. */
export class HelperProcesses implements AgentReach {
  readonly children: ChildProcess[] = [];
  readonly #within: string;

  constructor(within: string) {
    this.#within = within;
  }

  async open({ name, root }: { readonly name: string; readonly root: string }): Promise<Duplex> {
    return this.connection(name, root);
  }

  connection(name: string, root: string): Duplex {
    const child = spawn(process.execPath, [SYSTEM_HELPER, name, root, this.#within], {
      stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
      env: { PATH: process.env.PATH },
      cwd: '/',
    });
    this.children.push(child);
    return child.stdio[3] as Duplex;
  }

  /** The one that was started last. */
  get last(): ChildProcess {
    const child = this.children.at(-1);
    if (child === undefined) throw new Error('none was started');
    return child;
  }

  async stop(): Promise<void> {
    for (const child of this.children) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    }
  }
}
