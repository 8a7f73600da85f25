import { readFileSync, writeFileSync } from 'node:fs';

/** Linux's word for "forget the peak" (proc(5), clear_refs). */
const RESET_PEAK = '5';

function kibibytes(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  const found = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  if (found === null) throw new Error(`process ${pid} tells no ${field}`);
  return Number(found[1]);
}

/** Resident memory of a process, in MiB. */
export function residentMib(pid: number): number {
  return Math.round(kibibytes(pid, 'VmRSS') / 1024);
}

/** Most resident memory of a process since it started or `forgetPeak` was called, in MiB. Kept by the kernel: no peak is missed. */
export function peakMib(pid: number): number {
  return Math.round(kibibytes(pid, 'VmHWM') / 1024);
}

export function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, RESET_PEAK);
}
