import type { Job } from '../../../api.js';

/** What each node fetches before it votes, which may take long; empty: nothing. */
export function fetchingText({ script, uploads = [] }: Pick<Job, 'script' | 'uploads'>): string {
  const files = [...(script === undefined ? [] : [script]), ...uploads];
  if (files.length === 0) return '';
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  const size = `${Math.ceil(bytes / 1024).toLocaleString('en-US')} KiB`;
  return `nodes fetch ${files.length} ${files.length === 1 ? 'file' : 'files'} (${size})`;
}
