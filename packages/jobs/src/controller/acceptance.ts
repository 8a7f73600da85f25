import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '@muster/base';
import { type Broker, organizationTopology, submissionTopology } from '@muster/broker';
import type { Organization, RandomBytes } from '@muster/platform/auth';
import type { LayerLog } from '@muster/platform/upkeep';
import { absent, GuardFailed, insert, type Store } from '@muster/store';
import { APP_LIMITS } from '../apps/limits.js';
import type { App } from '../apps/types.js';
import { checkValues } from '../apps/values.js';
import { MusterError } from '../errors.js';
import { submissionOf } from '../messages.js';
import { sourceOf } from '../phases/sources.js';
import type { JobStore } from '../repository/job-store.js';
import { defaultArchivePath } from '../request/macros.js';
import { echo, refused } from '../request/refusal.js';
import { resourcesOf } from '../request/resources.js';
import { readSubmission, type Submission } from '../request/submission.js';
import { routingAttributes } from '../routing/attributes.js';
import { DESCRIPTIONS } from '../status.js';
import type { System } from '../systems/types.js';
import type { InputValues, Job } from '../types.js';
import { newUuid } from '../uuid.js';
import type { KnownJob } from './access.js';
import type { Apps, Asker, DefinedSystems, QueueChoice } from './ports.js';

export interface AcceptanceDeps {
  readonly store: Pick<Store, 'read' | 'commit' | 'transact'>;
  readonly jobs: JobStore;
  readonly broker: Pick<Broker, 'declare' | 'publish' | 'status'>;
  readonly apps: Apps;
  readonly systems: DefinedSystems;
  readonly queues: QueueChoice;
  readonly clock: Pick<Clock, 'now'>;
  readonly random: RandomBytes;
  readonly logger: Pick<LayerLog, 'error' | 'warn'>;
  /** Told before a job is sent to this queue, which stands. */
  readonly used?: (organization: Pick<Organization, 'id' | 'name'>, queue: string) => void;
}

/** How a request is taken again (sheet §8.8). */
export interface Resubmission {
  /** Values that its app does not take any more are left out. */
  readonly ignoreInputConflicts: boolean;
  readonly ignoreParameterConflicts: boolean;
  readonly preserveNotifications: boolean;
}

type Taken = (job: Job) => void;
const ignored: Taken = () => {};

const unknown = absent('jobs', { uuid: 'text' });
const refuse = insert('job_refusals', { uuid: 'text', at: 'integer' }, ['uuid']);

/**
 * Takes jobs. One that is taken is durable: its message, which holds it whole, is confirmed before its row is stored. Whoever is
 * told that theirs is not taken can send it again: a message that may have been stored all the same is refused by its number.
 */
export class Acceptance {
  readonly #deps: AcceptanceDeps;
  /** Submission queues that are known to stand, in the order in which they were used first. */
  readonly #declared = new Map<string, Promise<void>>();

  constructor(deps: AcceptanceDeps) {
    this.#deps = deps;
  }

  /**
   * @param key Repeating a request with the same one makes no second job.
   * @param taken Called when it is taken, just before its row is stored: what that persists is committed with it.
   * @throws MusterError `job_invalid`, `job_app_forbidden`, `job_key_reused`, `job_queue_unavailable`
   */
  async submit(
    organization: Organization,
    asker: Asker,
    body: unknown,
    key: string | null,
    taken: Taken = ignored,
  ): Promise<Job> {
    const { random } = this.#deps;
    if (key === null)
      return this.#accept(await this.#make(organization, asker, body, newUuid(random, '007')), null, asker, taken);
    const job = await this.submitOnce(organization, asker, body, key, taken);
    if (isDeepStrictEqual(JSON.parse(job.request), JSON.parse(JSON.stringify(body)))) return job;
    throw new MusterError('job_key_reused', { job: job.uuid });
  }

  /** As `submit`; the first request with the key counts, whatever another asks for. */
  async submitOnce(
    organization: Organization,
    asker: Asker,
    body: unknown,
    key: string,
    taken: Taken = ignored,
  ): Promise<Job> {
    const uuid = uuidOfKey(`${organization.id}\n${asker.user}\n${key}`);
    const known = await this.#deps.jobs.find(uuid);
    if (known !== null) return known;
    const job = await this.#make(organization, asker, body, uuid);
    await this.#forgive(uuid);
    return this.#accept(job, key, asker, taken);
  }

  /**
   * Takes the request of a job again, as another job of the same owner.
   * @throws MusterError as `submit`; `job_request_not_found`, `job_not_resubmittable`
   */
  async resubmit(
    organization: Organization,
    asker: Asker,
    { job, row }: KnownJob,
    how: Resubmission,
    taken: Taken = ignored,
  ): Promise<Job> {
    const { uuid, owner, roles, status } = job;
    if (row.foreign_job === 1) throw new MusterError('job_request_not_found', { job: uuid });
    if (status === 'ACCEPTED' || status === 'PENDING') {
      throw new MusterError('job_not_resubmittable', { job: uuid, reason: `it is ${status}, and has not begun` });
    }
    const sent: Readonly<Record<string, unknown>> = JSON.parse(job.request);
    const { notifications: _, ...others } = sent;
    const body = how.preserveNotifications ? sent : others;
    const again = newUuid(this.#deps.random, '007');
    return this.#accept(
      await this.#make(organization, { ...asker, user: owner, roles }, body, again, how),
      null,
      asker,
      taken,
    );
  }

  /** Checks a request whole. */
  async #make(organization: Organization, asker: Asker, body: unknown, uuid: string, how?: Resubmission): Promise<Job> {
    const { clock, queues } = this.#deps;
    const sent = readSubmission(body);
    const app = await this.#app(organization, asker, sent.appId);
    const submission = how === undefined ? sent : withoutConflicts(sent, app, how);
    const system = await this.#executionSystem(organization, submission, app);
    const { inputs, parameters } = checkValues({ app, job: submission.name }, submission);
    checkLength('inputs', inputs);
    checkLength('parameters', parameters);
    await this.#checkSources(organization, app, inputs);
    const resources = resourcesOf(submission, app, system);
    const archiveSystem = submission.archive ? await this.#archiveSystem(organization, submission) : null;
    const { name, archive, archiveOnAppError } = submission;
    const owner = asker.user;
    const accepted = clock.now();
    const job: Job = {
      uuid,
      orgId: organization.id,
      tenant: organization.name,
      name,
      owner,
      roles: asker.roles,
      queue: '',
      appId: app.id,
      appUuid: app.uuid,
      systemId: system.name,
      archive,
      archiveOnAppError,
      archiveSystem,
      ...resources,
      inputs,
      parameters,
      request: JSON.stringify(body),
      accepted,
      status: 'ACCEPTED',
      resumeAt: null,
      blockedCount: 0,
      created: null,
      remoteSubmitted: null,
      remoteStarted: null,
      ended: null,
      condition: null,
      lastMessage: DESCRIPTIONS.ACCEPTED,
      lastUpdated: accepted,
      archivePath: archive ? submission.archivePath || defaultArchivePath({ name, owner, uuid }) : null,
      workPath: null,
      remoteJobId: null,
      schedulerJobId: null,
      remoteEnded: null,
      remoteOutcome: null,
      remoteCondition: null,
      remoteDetail: null,
      exitCode: null,
      submitRetries: 0,
      statusChecks: 0,
      failedChecks: 0,
      lastCheck: null,
      visible: true,
      wanted: null,
      worker: null,
      epoch: 0,
      subscriptions: submission.subscriptions.length,
    };
    return { ...job, queue: await queues.choose(organization, routingAttributes(job, accepted)) };
  }

  async #app(organization: Organization, { user, admin }: Asker, appId: string): Promise<App> {
    const app = await this.#deps.apps.find(organization.id, appId);
    if (app === null) throw refused('JOBS_SUBMIT_ERROR', 'appId', `there is no app '${echo(appId)}'`);
    if (!app.isPublic && app.owner !== user && !admin) throw new MusterError('job_app_forbidden', { user, app: appId });
    if (!app.enabled) throw refused('JOBS_SUBMIT_ERROR', 'appId', `app ${appId} is disabled`);
    return app;
  }

  async #executionSystem({ id }: Organization, { executionSystem }: Submission, app: App): Promise<System> {
    const own = app.executionSystem;
    if (own !== null && executionSystem !== null && executionSystem !== own) {
      throw refused('JOBS_SUBMIT_ERROR', 'executionSystem', `app ${app.id} runs on ${own}: leave it out`);
    }
    const name = own ?? executionSystem;
    const system = await this.#system(id, name);
    if (system !== null) return system;
    if (name === null) {
      const reason = `app ${app.id} names no execution system, and there is no default one`;
      throw refused('JOBS_SUBMIT_ERROR', 'executionSystem', reason);
    }
    const field = own === null ? 'executionSystem' : 'appId';
    throw refused('JOBS_SUBMIT_ERROR', field, `there is no system '${echo(name)}', on which it would run`);
  }

  /** @param name null: the default one. @returns null: there is none */
  async #system(orgId: string, name: string | null): Promise<System | null> {
    const { systems } = this.#deps;
    return name === null ? systems.defaultOf(orgId) : systems.find(orgId, name);
  }

  /** Systems of inputs are there; whether files are, only who opens the system can tell. */
  async #checkSources({ id }: Organization, { deployment }: App, inputs: InputValues): Promise<void> {
    for (const [input, values] of Object.entries(inputs)) {
      for (const value of [values].flat()) {
        const source = sourceOf(value);
        if (source.kind !== 'system') continue;
        const name = source.system ?? deployment?.system ?? null;
        if ((await this.#system(id, name)) !== null) continue;
        const reason =
          name === null ? 'it names no system, and there is no default one' : `there is no system '${echo(name)}'`;
        throw refused('JOBS_SUBMIT_ERROR', `inputs.${input}`, reason);
      }
    }
  }

  async #archiveSystem({ id }: Organization, { archiveSystem }: Submission): Promise<string> {
    const system = await this.#system(id, archiveSystem);
    if (system !== null) return system.name;
    const reason =
      archiveSystem === null
        ? 'none is given, and there is no default system'
        : `there is no system '${echo(archiveSystem)}'`;
    throw refused('JOBS_SUBMIT_ERROR', 'archiveSystem', reason);
  }

  async #accept(job: Job, key: string | null, { address }: Asker, taken: Taken): Promise<Job> {
    const { broker, jobs, logger, used } = this.#deps;
    const { connected, why } = broker.status();
    // Nothing is on its way yet: nothing need be refused later.
    if (!connected) throw new MusterError('job_queue_unavailable', { reason: why ?? 'it is not connected' });
    await this.#declare(job);
    used?.({ id: job.orgId, name: job.tenant }, job.queue);
    try {
      await broker.publish(submissionOf(job, key, address));
    } catch (error) {
      if (await this.#refuse(job, error)) throw unavailable(error);
      // Its message was stored, and a worker has it: it is taken.
      taken(job);
      return job;
    }
    taken(job);
    try {
      await jobs.add(job, key, address);
    } catch (error) {
      // Whoever takes the message stores it.
      logger.error({ err: error, job: job.uuid }, 'a job was accepted and its row could not be stored yet');
    }
    return job;
  }

  async #declare({ tenant, queue }: Job): Promise<void> {
    const { broker } = this.#deps;
    let declared = this.#declared.get(queue);
    if (declared === undefined) {
      declared = broker
        .declare(organizationTopology(tenant))
        .then(() => broker.declare(submissionTopology(tenant, queue)));
      this.#declared.set(queue, declared);
    }
    try {
      await declared;
    } catch (error) {
      this.#declared.delete(queue);
      throw unavailable(error);
    }
  }

  /** Its message may have been stored: nobody is to run it. False: somebody does already. */
  async #refuse({ uuid }: Job, cause: unknown): Promise<boolean> {
    const { store, clock, logger } = this.#deps;
    try {
      await store.commit([unknown({ uuid }), refuse({ uuid, at: clock.now() })]);
    } catch (error) {
      if (error instanceof GuardFailed) return false;
      logger.error(
        { err: error, cause, job: uuid },
        'a job was refused, and yet may be run: neither broker nor database answer',
      );
    }
    return true;
  }

  /** It was refused under this key before, and is sent again. */
  async #forgive(uuid: string): Promise<void> {
    const { store } = this.#deps;
    const refusal = await store.read
      .selectFrom('job_refusals')
      .select('uuid')
      .where('uuid', '=', uuid)
      .executeTakeFirst();
    if (refusal === undefined) return;
    await store.transact((trx) => trx.deleteFrom('job_refusals').where('uuid', '=', uuid).execute());
  }
}

/** Without values that the app, which may have changed, would refuse. */
function withoutConflicts(submission: Submission, app: App, how: Resubmission): Submission {
  const taken = (
    given: Submission['inputs'],
    declared: readonly { readonly id: string; readonly visible: boolean }[],
  ) =>
    Object.fromEntries(
      Object.entries(given).filter(([key]) => declared.some(({ id, visible }) => visible && id === key)),
    );
  return {
    ...submission,
    ...(how.ignoreInputConflicts && { inputs: taken(submission.inputs, app.inputs) }),
    ...(how.ignoreParameterConflicts && { parameters: taken(submission.parameters, app.parameters) }),
  };
}

function checkLength(field: string, values: object): void {
  if (JSON.stringify(values).length <= APP_LIMITS.values) return;
  throw refused('ALOE_INVALID_PARAMETER_LEN', field, `must have at most ${APP_LIMITS.values} characters, as JSON`);
}

function unavailable(cause: unknown): unknown {
  if (!(cause instanceof MusterError) || cause.code === 'message_too_large') return cause;
  return new MusterError('job_queue_unavailable', { reason: cause.message }, { cause });
}

/** The same for the same key: whoever repeats a request names the job that it became. */
function uuidOfKey(text: string): string {
  const bytes = createHash('sha256').update(text).digest();
  return newUuid(() => bytes.subarray(0, 16), '007');
}
