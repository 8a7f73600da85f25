import type { Client } from '../../client.js';

/** Shapes of the API's answers about jobs that the CLI reads. */

/** A job of a list. */
export interface JobSummary {
  readonly id: string;
  readonly name: string;
  readonly owner: string;
  readonly appId: string;
  readonly systemId: string | null;
  readonly status: string;
  readonly created: string | null;
  readonly remoteStarted: string | null;
  readonly ended: string | null;
}

/** A single job. */
export interface Job extends JobSummary {
  readonly tenantQueue: string;
  readonly lastStatusMessage: string | null;
  readonly accepted: string;
  readonly lastUpdated: string;
  readonly workPath: string | null;
  readonly archive: boolean;
  readonly archivePath: string | null;
  readonly archiveSystem: string | null;
  readonly nodeCount: number;
  readonly processorsPerNode: number;
  readonly memoryPerNode: number;
  readonly maxHours: number;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly remoteJobId: string | null;
  readonly remoteQueue: string | null;
  readonly remoteOutcome: string | null;
  readonly blockedCount: number;
  readonly visible: boolean;
}

export interface HistoryEntry {
  readonly status: string;
  readonly created: string;
  readonly createdBy: string;
  readonly description: string;
}

export interface OutputFile {
  readonly name: string;
  readonly path: string;
  readonly type: 'dir' | 'file';
  readonly length: number;
  readonly lastModified: string;
  readonly permissions?: string;
}

const ENDS: ReadonlySet<string> = new Set(['FINISHED', 'STOPPED', 'FAILED']);

export function hasEnded({ status }: Pick<JobSummary, 'status'>): boolean {
  return ENDS.has(status);
}

export function jobPath(client: Client, ...parts: readonly string[]): string {
  return client.inOrg('jobs', 'v2', ...parts);
}
