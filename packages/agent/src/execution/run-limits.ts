import type { AgentConfig } from '../config.js';
import { CPU_PERIOD_US } from '../limits.js';

export type RunLimits = NonNullable<AgentConfig['limits']>;

/** What one limit writes into the control group of a command; it needs the kernel's controller of this name. */
export interface LimitFile {
  readonly controller: 'memory' | 'cpu' | 'pids';
  readonly file: string;
  readonly text: string;
}

export function limitFiles({ memory, cpu, pids }: RunLimits): LimitFile[] {
  const files: LimitFile[] = [];
  if (memory !== undefined) files.push({ controller: 'memory', file: 'memory.max', text: String(memory) });
  if (cpu !== undefined) {
    const quota = Math.round(cpu * CPU_PERIOD_US);
    files.push({ controller: 'cpu', file: 'cpu.max', text: `${quota} ${CPU_PERIOD_US}` });
  }
  if (pids !== undefined) files.push({ controller: 'pids', file: 'pids.max', text: String(pids) });
  return files;
}
