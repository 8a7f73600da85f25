import { type AuditEntry, actorOf, type Identity, type Organization } from '@muster/platform/auth';
import type { ServerConfig } from '@muster/platform/config';
import type { Recordable } from '@muster/platform/log';
import { GuardFailed, type Write } from '@muster/store';
import { MusterError } from '../errors.js';
import type { PushController } from '../ports.js';
import { invalid } from './fields.js';
import { newJobId } from './job-id.js';
import { resolveSpec } from './job-spec.js';
import type { JobRequest } from './request.js';
import { chooseNodes, type TargetDeps } from './targets.js';

/** The append-only record of who started and stopped what. */
export interface PushAudit {
  /** To be stored together with what it tells. */
  write(entry: AuditEntry): Write;
}

export interface SubmissionDeps extends TargetDeps {
  readonly controller: PushController;
  readonly audit: PushAudit;
  readonly random: (bytes: number) => Uint8Array;
  readonly config: ServerConfig;
}

/** What else is stored in the commit that stores the job. */
export interface StoredAlong {
  readonly writes: readonly Write[];
  readonly events: readonly Recordable[];
}

/** Takes a validated request to a durable job and returns its id. */
export async function submitJob(
  deps: SubmissionDeps,
  caller: Identity,
  org: Organization,
  request: JobRequest,
  along: (jobId: string) => StoredAlong = () => NOTHING,
): Promise<string> {
  checkPolicy(deps.config.commands.allow, request.command);
  const { allowed, denied, target } = await chooseNodes(deps, caller, org, request.target);
  const { run_timeout: runTimeout, voting_timeout: votingTimeout } = deps.config.push;
  const resolved = resolveSpec(request, allowed.length + denied.length, target, { runTimeout, votingTimeout });
  const spec = { ...resolved, requesterId: caller.principalId };
  const jobId = newJobId(org.id, deps.random);
  const entry = { orgId: org.id, actor: actorOf(caller), target: jobId };
  const started = deps.audit.write({
    ...entry,
    action: 'push.start',
    outcome: 'done',
    detail: {
      command: request.command.slice(0, 200),
      nodes: allowed.length + denied.length,
      target: target.slice(0, 200),
    },
  });
  const { writes, events } = along(jobId);
  const record = [deps.access.present(org), started, ...writes];
  if (denied.length > 0) {
    const detail = { nodes: denied.length, first: denied[0] ?? '' };
    record.push(deps.audit.write({ ...entry, action: 'push.execute', outcome: 'denied', detail }));
  }
  try {
    await deps.controller.start({ org, jobId, spec, requester: caller.name, nodes: allowed, denied, record, events });
  } catch (error) {
    // It was deleted while the request was on its way.
    if (error instanceof GuardFailed) throw new MusterError('organization_not_found', { organization: org.name });
    throw error;
  }
  return jobId;
}

const NOTHING: StoredAlong = { writes: [], events: [] };

/** Organization policy narrows what may be started; the nodes' own allow-lists decide after it (N16). */
function checkPolicy(allow: readonly string[] | undefined, command: string): void {
  if (allow === undefined || allow.includes(command)) return;
  throw invalid('command', "the server's policy (commands.allow) does not list it");
}
