import { type AuditEntry, actorOf, type Identity, type Organization, whilePresent } from '@muster/platform/auth';
import type { ServerConfig } from '@muster/platform/config';
import type { Recordable } from '@muster/platform/log';
import type { Secrets } from '@muster/platform/secrets';
import type { Write } from '@muster/store';
import type { Needs } from '../approvals/needs.js';
import { ApprovalNeeded, policyNeeds } from '../approvals/policies.js';
import type { PushFiles } from '../files/push-files.js';
import { COMMAND_TOLD } from '../limits.js';
import type { PushController } from '../ports.js';
import { type PushSettings, pushSettings } from '../repository/settings.js';
import type { RunbookMark, Share } from '../types.js';
import { invalid } from './fields.js';
import { newJobId } from './job-id.js';
import { resolveSpec } from './job-spec.js';
import type { JobRequest } from './request.js';
import { FILE_KEYS, filesOf, isUpgrade } from './request-files.js';
import { checkMostNodes, type Target } from './request-target.js';
import { parseShare } from './shares.js';
import type { StartLimits } from './start-limits.js';
import { type ChosenNodes, chooseNodes, type TargetDeps } from './targets.js';

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
  readonly files: Pick<PushFiles, 'named'>;
  readonly limits: Pick<StartLimits, 'check' | 'take'>;
  readonly secrets: Pick<Secrets, 'usable'>;
}

/** What else is stored in the commit that stores the job. */
export interface StoredAlong {
  readonly writes: readonly Write[];
  readonly events: readonly Recordable[];
}

/** How a job is started that nobody posts. */
export interface Occasion {
  readonly along?: (jobId: string) => StoredAlong;
  /** On whose nodes, when those of the caller do not count. */
  readonly nodesOf?: Identity;
  readonly runbook?: RunbookMark;
  /** Name of the schedule that starts it, for the audit. */
  readonly schedule?: string;
  /** Called with what policies want for its nodes. Unless there is one, whatever they want is not there. @throws ApprovalNeeded */
  readonly agreed?: (now: Needs) => void;
}

/** Takes a validated request to a durable job and returns its id. */
export async function submitJob(
  deps: SubmissionDeps,
  caller: Identity,
  org: Organization,
  request: JobRequest,
  { along = () => NOTHING, nodesOf = caller, runbook, schedule, agreed = assertNothingAsked }: Occasion = {},
): Promise<string> {
  const { options } = request;
  checkRequest(deps.config, request);
  const { script, uploads = [], fetch } = options;
  const { secrets, kept, chosen, settings } = await admit(deps, nodesOf, org, request);
  const { allowed, denied, target } = chosen;
  agreed(await policyNeeds(deps, org, [...allowed, ...denied]));
  const { run_timeout: runTimeout, voting_timeout, wait_timeout: waitTimeout } = deps.config.push;
  const votingTimeout = voting_timeout + secondsToFetch(request, allowed.length, deps.config.files);
  const quorum = request.quorum === 'default' ? defaultQuorum(settings) : null;
  const defaults = { runTimeout, votingTimeout, waitTimeout, quorum };
  const resolved = resolveSpec(request, allowed.length + denied.length, target, defaults);
  const spec = { ...resolved, requesterId: caller.principalId, ...(runbook && { runbook }) };
  const jobId = newJobId(org.id, deps.random);
  const entry = { orgId: org.id, actor: actorOf(caller), target: jobId };
  const started = deps.audit.write({
    ...entry,
    action: 'push.start',
    outcome: 'done',
    detail: {
      command: request.command.slice(0, COMMAND_TOLD),
      nodes: allowed.length + denied.length,
      target: target.slice(0, 200),
      ...(script === undefined ? {} : { script: script.sha256, signed: script.signature !== undefined }),
      ...(uploads.length === 0 ? {} : { uploads: uploads.map(({ sha256, dest }) => `${sha256} ${dest}`).join(', ') }),
      ...(fetch === undefined ? {} : { fetch }),
      ...(secrets.length === 0 ? {} : { secrets: secrets.join(', ') }),
      ...(spec.batches === undefined ? {} : { batches: spec.batches.slice(0, 10).join(', ') }),
      ...(spec.waitTimeout === undefined ? {} : { waits: `${spec.waitTimeout} s for busy nodes` }),
      ...(runbook === undefined ? {} : { runbook: `${runbook.name} ${runbook.version}` }),
      ...(schedule === undefined ? {} : { schedule }),
    },
  });
  const { writes, events } = along(jobId);
  const used = secrets.map((target) =>
    deps.audit.write({ ...entry, action: 'secret.use', target, outcome: 'done', detail: { job: jobId } }),
  );
  const record = [deps.access.present(org), started, ...used, ...kept, ...writes];
  if (denied.length > 0) {
    const detail = { nodes: denied.length, first: denied[0] ?? '' };
    record.push(deps.audit.write({ ...entry, action: 'push.execute', outcome: 'denied', detail }));
  }
  deps.limits.take(caller, org, settings);
  const job = { org, jobId, spec, requester: caller.name, nodes: allowed, denied, record, events };
  await whilePresent(org, deps.controller.start(job));
  return jobId;
}

/** By itself, whatever there is. @throws MusterError `invalid_field` */
export function checkRequest(config: Pick<ServerConfig, 'commands'>, { command, options }: JobRequest): void {
  checkPolicy(
    config,
    command,
    FILE_KEYS.find((key) => options[key] !== undefined && !(key === 'uploads' && isUpgrade(command, options.uploads))),
  );
}

/** What it names is there, and may be used. Nothing is stored. @throws MusterError */
export async function admit(
  deps: AdmissionDeps,
  nodesOf: Identity,
  org: Organization,
  { options, target }: JobRequest,
) {
  const secrets = Object.keys(options.secrets ?? {});
  const kept = await deps.files.named(org.id, filesOf(options));
  return { secrets, kept, ...(await admitNodes(deps, nodesOf, org, { secrets, target })) };
}

/** What can be known of a job whose files are not there yet. Nothing is stored. @throws MusterError */
export async function admitNodes(
  deps: Omit<AdmissionDeps, 'files'>,
  nodesOf: Identity,
  org: Organization,
  { secrets, target }: { readonly secrets: readonly string[]; readonly target: Target },
): Promise<{ readonly chosen: ChosenNodes; readonly settings: PushSettings }> {
  // In a runbook as its author may: whoever runs it has no say in where a secret goes.
  for (const name of secrets) await deps.secrets.usable(org, name, nodesOf);
  const chosen = await chooseNodes(deps, nodesOf, org, target);
  const settings = await pushSettings(deps.read, org.id);
  checkMostNodes(chosen.allowed.length + chosen.denied.length, 'the organization', settings.maxNodes);
  return { chosen, settings };
}

type AdmissionDeps = TargetDeps & Pick<SubmissionDeps, 'files' | 'secrets'>;

function assertNothingAsked(now: Needs): void {
  if (now.needs.length > 0) throw new ApprovalNeeded(now);
}

/** Null: all nodes. */
export function defaultQuorum({ quorum }: PushSettings): Share | null {
  const share = quorum === null ? null : parseShare(quorum);
  return typeof share === 'object' ? share : null;
}

const NOTHING: StoredAlong = { writes: [], events: [] };

/** Nodes vote when they have the files. */
function secondsToFetch({ options }: JobRequest, nodes: number, { rate, node_rate }: ServerConfig['files']): number {
  const { script, uploads = [] } = options;
  const bytes = uploads.reduce((sum, { size }) => sum + size, script?.size ?? 0);
  return Math.ceil(bytes / node_rate + (bytes * nodes) / rate);
}

/**
 * Organization policy narrows what may be started; the nodes' own allow-lists decide after it (N16). `file`: the key of the request
 * that brings one, or asks for one.
 */
export function checkPolicy(
  { commands: { allow } }: Pick<ServerConfig, 'commands'>,
  command: string | null,
  file: string | undefined,
): void {
  if (allow === undefined) return;
  if (file !== undefined)
    throw invalid(file, "the server's policy (commands.allow) lists commands, and takes no files");
  if (command === null || allow.includes(command)) return;
  throw invalid('command', "the server's policy (commands.allow) does not list it");
}
