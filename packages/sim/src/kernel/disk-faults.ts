import type { DiskConditions } from './faulty-lane.js';
import type { Random } from './random.js';

export const DISK_FAULTS = ['slow commits', 'failing commits', 'lost commits'] as const;

export type DiskFault = (typeof DISK_FAULTS)[number];

/** Mends it, whatever was broken. */
export function mendDisk(disk: DiskConditions, usualMs: number): void {
  disk.failing = false;
  disk.unknown = 0;
  disk.delayMs = usualMs;
}

interface Delays {
  readonly usualMs: number;
  /** In the mean, while it is slow. */
  readonly slowMs: number;
}

/** Breaks a disk. @returns what mends it. */
export function breakDisk(
  disk: DiskConditions,
  fault: DiskFault,
  random: Random,
  { usualMs, slowMs }: Delays,
): () => void {
  switch (fault) {
    case 'slow commits':
      disk.delayMs = random.around(slowMs);
      return () => {
        disk.delayMs = usualMs;
      };
    case 'failing commits':
      disk.failing = true;
      return () => {
        disk.failing = false;
      };
    case 'lost commits':
      disk.unknown = random.between(0.05, 0.5);
      return () => {
        disk.unknown = 0;
      };
  }
}
