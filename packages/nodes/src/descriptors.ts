import { NODE_LIMITS } from './limits.js';

/** Connections that nodes may have, by how many descriptors this process may open (`ulimit -n`). */
export function connectionsOf(openFiles: number | 'unlimited'): number {
  if (openFiles === 'unlimited') return NODE_LIMITS.connections;
  return Math.min(NODE_LIMITS.connections, Math.floor(openFiles * NODE_LIMITS.descriptorShare));
}

/** `ulimit -n` of this process, as Node has raised it. */
export function openFilesLimit(): number | 'unlimited' {
  // Without it the report looks up the names of all addresses this process is connected with.
  Object.assign(process.report, { excludeNetwork: true });
  const report: unknown = process.report.getReport();
  const { soft } = (report as { userLimits: { open_files: { soft: number | 'unlimited' } } }).userLimits.open_files;
  return typeof soft === 'number' ? soft : 'unlimited';
}
