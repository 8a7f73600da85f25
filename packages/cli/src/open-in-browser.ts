import { spawn } from 'node:child_process';
import type { World } from './world.js';

/** What opens a page on this desktop; null: there is none, or nobody who sees it. */
export function openerOf({ env, stdout }: Pick<World, 'env' | 'stdout'>, platform: NodeJS.Platform): string | null {
  if (stdout.isTTY !== true) return null;
  if (platform === 'darwin') return 'open';
  const desktop = [env.DISPLAY, env.WAYLAND_DISPLAY].some((value) => value !== undefined && value !== '');
  return platform === 'linux' && desktop ? 'xdg-open' : null;
}

/** False: it could not be started. Nobody waits for the browser. */
export function openInBrowser(opener: string, url: string, { env, cwd }: Pick<World, 'env' | 'cwd'>): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(opener, [url], { env, cwd, detached: true, stdio: 'ignore' });
    child.once('error', () => resolve(false));
    child.once('spawn', () => {
      child.unref();
      resolve(true);
    });
  });
}
