import type { Auth, Identity, Organization } from '@muster/platform/auth';
import type { Base } from '@muster/platform/layers';
import type { Write } from '@muster/store';
import { type Agreement, underAgreement } from './approvals/agreement.js';
import type { Needs } from './approvals/needs.js';
import { policyNeeds } from './approvals/policies.js';
import type { Push } from './layer.js';
import { findJob, jobStatuses } from './repository/reads.js';
import { isJobId, newJobId } from './request/job-id.js';
import { type JobRequest, readJobRequest } from './request/request.js';
import { filesOf } from './request/request-files.js';
import { type StoredAlong, submitJob } from './request/submission.js';
import { nodesNow } from './request/targets.js';
import { pushAccess } from './routes/access.js';

export interface StartedBy {
  /** 10 bytes that tell this start from all others: with the same ones no second job is started. Random unless given. */
  readonly mark?: Uint8Array;
  /** What else is stored in the commit that stores the job. */
  readonly along?: (jobId: string) => StoredAlong;
  /** Name of the schedule that starts it: the audit says it. */
  readonly schedule?: string;
  /** To what starts it others have agreed as it is. @throws ApprovalNeeded when policies of approval want something else by now */
  readonly agreement?: Agreement;
}

/** How layers above start push jobs: with the checks of the route, but for the permission `push:execute`. */
export interface PushStarter {
  /** Reads the body of a POST jobs. @throws MusterError as that route. */
  read(body: unknown): JobRequest;
  /** Who would have to agree if it were started now; null: nobody. @throws MusterError as that route */
  asks(caller: Identity, org: Organization, request: JobRequest): Promise<Needs | null>;
  /** To be stored with what will start it later. @throws MusterError `push_file_missing` for a file that is not there */
  named(org: Organization, request: JobRequest): Promise<readonly Write[]>;
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
      return readJobRequest(body, JSON.stringify(body) ?? '', { maxNodes });
    },
    async asks(caller, org, { target }) {
      const asked = await policyNeeds(deps, org, await nodesNow(deps, caller, org, target));
      return asked.needs.length === 0 ? null : asked;
    },
    named: (org, { options }) => files.named(org.id, filesOf(options)),
    async start(caller, org, request, { mark, along, schedule, agreement }) {
      if (mark !== undefined) {
        const id = newJobId(org.id, () => mark);
        if ((await findJob(store.read, org.id, id)) !== undefined) return { id, created: false };
      }
      const ids = mark === undefined ? random : () => mark;
      return {
        id: await submitJob({ ...deps, random: ids }, caller, org, request, {
          ...(along && { along }),
          ...(schedule !== undefined && { schedule }),
          ...(agreement && { agreed: underAgreement(agreement) }),
        }),
        created: true,
      };
    },
    async statuses(ids) {
      const rows = await jobStatuses(store.read, ids.filter(isJobId));
      return new Map(rows.map(({ id, status, phase }) => [id, { status, finished: phase === 'finished' }]));
    },
  };
}
