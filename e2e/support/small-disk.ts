import { randomBytes } from 'node:crypto';
import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StartedProcess } from './started-process.js';

/**
 * A real file system of a few MiB that can be filled: a tmpfs in a mount namespace of its own, so that it needs no
 * privilege where user namespaces are allowed, and disappears with the processes that use it.
 */
export class SmallDisk {
  /** Where processes started through it see it. */
  readonly dir: string;
  readonly #holder: StartedProcess;

  private constructor(dir: string, holder: StartedProcess) {
    this.dir = dir;
    this.#holder = holder;
  }

  static async mount(dir: string, mib: number): Promise<SmallDisk> {
    mkdirSync(dir, { recursive: true });
    // It ends with its input, so it cannot outlive the tests.
    const script = `mount -t tmpfs -o size=${mib}m,mode=700 tmpfs "$1" && echo mounted && exec cat`;
    const { PATH } = process.env;
    const holder = new StartedProcess('the mount', 'unshare', [...unsharing(), 'sh', '-c', script, 'sh', dir], {
      cwd: '/',
      env: { PATH },
    });
    await holder.logged(/^mounted$/m);
    return new SmallDisk(dir, holder);
  }

  /** The same directory, seen from outside. */
  get seen(): string {
    return join(`/proc/${this.#holder.pid}/root`, this.dir);
  }

  /** Puts a program on this disk: the words before its own command line. */
  get through(): readonly string[] {
    const namespaces = process.getuid?.() === 0 ? ['--mount'] : ['--user', '--mount', '--preserve-credentials'];
    return ['nsenter', `--target=${this.#holder.pid}`, ...namespaces, '--'];
  }

  /** Takes all space that is left. */
  fill(): void {
    const { bsize } = statfsSync(this.seen);
    for (let n = 0; ; n++) {
      try {
        writeFileSync(join(this.seen, 'ballast', `${n}`), randomBytes(bsize));
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') return;
        if (n > 0 || !(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
        mkdirSync(join(this.seen, 'ballast'));
      }
    }
  }

  async unmount(): Promise<void> {
    this.#holder.closeInput();
    await this.#holder.exited;
  }

  /** Gives the space back. */
  free(): void {
    rmSync(join(this.seen, 'ballast'), { recursive: true, force: true });
  }
}

function unsharing(): readonly string[] {
  return process.getuid?.() === 0 ? ['--mount'] : ['--user', '--map-root-user', '--mount'];
}
