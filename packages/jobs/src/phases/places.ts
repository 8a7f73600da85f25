import { Failed, type Job } from '../types.js';
import type { Source } from './sources.js';

/** Which systems an organization has, as far as inputs need to know. */
export interface Places {
  /** Name of the default one; null: there is none. */
  defaultSystem(orgId: string): Promise<string | null>;
  /** Name of the one that is this host; null: none is. */
  systemAt(
    orgId: string,
    at: { readonly host: string; readonly port: number; readonly user: string | null },
  ): Promise<string | null>;
}

/**
 * The system that a source is on.
 * @param otherwise Where paths are that name no system: that of the app; null: the organization's default one
 * @throws Failed when there is none
 */
export async function systemOf(
  places: Places,
  { orgId }: Pick<Job, 'orgId'>,
  source: Exclude<Source, { kind: 'web' }>,
  otherwise: string | null,
): Promise<string> {
  if (source.kind === 'sftp') {
    const { host } = source;
    const name = await places.systemAt(orgId, source);
    if (name !== null) return name;
    throw new Failed(
      'JOB_UNABLE_TO_STAGE_INPUTS',
      `no system of the organization is at ${host}: create one, so that there is a login for it`,
    );
  }
  const name = source.system ?? otherwise ?? (await places.defaultSystem(orgId));
  if (name !== null) return name;
  throw new Failed(
    'JOB_UNABLE_TO_STAGE_INPUTS',
    `the input '${source.path}' names no system, and the organization has no default one`,
  );
}
