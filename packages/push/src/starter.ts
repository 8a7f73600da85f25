import type { Auth, Identity, Organization } from '@muster/platform/auth';
import type { Base } from '@muster/platform/layers';
import type { Push } from './layer.js';
import { findJob, jobStatuses } from './repository/reads.js';
import { invalid } from './request/fields.js';
import { isJobId, newJobId } from './request/job-id.js';
import { type JobRequest, readJobRequest } from './request/request.js';
import { FILE_KEYS } from './request/request-files.js';
import { type StoredAlong, submitJob } from './request/submission.js';
import { pushAccess } from './routes/access.js';

export interface StartedBy {
  /** 10 bytes that tell this start from all others: with the same ones no second job is started. Random unless given. */
  readonly mark?: Uint8Array;
  /** What else is stored in the commit that stores the job. */
  readonly along?: (jobId: string) => StoredAlong;
}

/** How layers above start push jobs: with the checks of the route, but for the permission `push:execute`. */
export interface PushStarter {
  /** Reads the body of a POST jobs. @throws MusterError as that route. */
  read(body: unknown): JobRequest;
  /** `created`: false when there was one with this mark already, and nothing was stored. @throws MusterError as that route. */
  start(
    caller: Identity,
    org: Organization,
    request: JobRequest,
    by: StartedBy,
  ): Promise<{ readonly id: string; readonly created: boolean }>;
  /** How these jobs stand; those that are gone are left out. */
  statuses(
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, { readonly status: string; readonly finished: boolean }>>;
}

export function createPushStarter(
  { store, config, random }: Pick<Base, 'config' | 'random' | 'store'>,
  { controller, files, limits, nodes, secrets }: Pick<Push, 'controller' | 'files' | 'limits' | 'nodes' | 'secrets'>,
  auth: Pick<Auth, 'audit' | 'authorize' | 'nodeGroups' | 'organizations' | 'rights'>,
): PushStarter {
  const maxNodes = config.push.max_nodes;
  const access = pushAccess(auth);
  const deps = {
    read: store.read,
    controller,
    files,
    limits,
    nodes,
    secrets,
    audit: auth.audit,
    access,
    config,
    maxNodes,
  };
  return {
    read(body) {
      const request = readJobRequest(body, JSON.stringify(body) ?? '', { maxNodes });
      // They go when no job has named them for some time, and what is read here may run much later.
      const file = FILE_KEYS.find((key) => request.options[key] !== undefined);
      if (file !== undefined) throw invalid(file, 'goes with a push job that is started at once');
      return request;
    },
    async start(caller, org, request, { mark, along }) {
      if (mark !== undefined) {
        const id = newJobId(org.id, () => mark);
        if ((await findJob(store.read, org.id, id)) !== undefined) return { id, created: false };
      }
      const ids = mark === undefined ? random : () => mark;
      return {
        id: await submitJob({ ...deps, random: ids }, caller, org, request, { ...(along && { along }) }),
        created: true,
      };
    },
    async statuses(ids) {
      const rows = await jobStatuses(store.read, ids.filter(isJobId));
      return new Map(rows.map(({ id, status, phase }) => [id, { status, finished: phase === 'finished' }]));
    },
  };
}
