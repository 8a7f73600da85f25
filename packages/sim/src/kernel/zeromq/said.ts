import type { Path } from './sides.js';

/** Which way a message goes. */
export function arrow(way: 'up' | 'down', path: Path): string {
  return way === 'up' ? `${path.node} -> server` : `server -> ${path.node}`;
}

const SHOWN = ['type', 'job_id', 'state', 'job_state', 'outcome', 'start', 'reason', 'from', 'settled', 'offset'];

/** A message in a line. */
export function told(frames: readonly Buffer[]): string {
  const fields: unknown = JSON.parse(frames.at(-1)?.toString() ?? '{}');
  if (typeof fields !== 'object' || fields === null) return '?';
  const shown = Object.entries(fields).filter(([name, value]) => SHOWN.includes(name) && value !== null);
  return shown.map(([name, value]) => (name === 'type' ? value : `${name}=${brief(name, value)}`)).join(' ');
}

function brief(name: string, value: unknown): string {
  return name === 'job_id' ? String(value).slice(-4) : String(value);
}
