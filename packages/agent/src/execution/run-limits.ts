import { type Static, Type } from 'typebox';
import {
  CPU_PERIOD_US,
  RUN_CPU_LEAST,
  RUN_CPU_MOST,
  RUN_MEMORY_LEAST,
  RUN_MEMORY_MOST,
  RUN_PIDS_MOST,
} from '../limits.js';

/** Bytes; in the file also text with a unit, such as `1GiB`. */
export const MEMORY_QUANTITY = { unit: 'bytes', minimum: RUN_MEMORY_LEAST, maximum: RUN_MEMORY_MOST } as const;

/** Limits of one run, as the owner of the node writes them. `one`: what is limited. */
export const runLimitsSchema = (one: string, description: string) =>
  Type.Object(
    {
      memory: Type.Optional(
        Type.Integer({
          description: `Memory of ${one} with all its processes; beyond it the kernel kills`,
          ...MEMORY_QUANTITY,
        }),
      ),
      cpu: Type.Optional(
        Type.Number({
          description: `Processors that ${one} may keep busy, such as 0.5 or 2`,
          minimum: RUN_CPU_LEAST,
          maximum: RUN_CPU_MOST,
        }),
      ),
      pids: Type.Optional(
        Type.Integer({
          description: `Processes and threads of ${one} at a time`,
          minimum: 1,
          maximum: RUN_PIDS_MOST,
        }),
      ),
    },
    { additionalProperties: false, description },
  );

export type RunLimits = Static<ReturnType<typeof runLimitsSchema>>;

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
