import { type Acceptance, askerOf } from '@muster/jobs';
import type { Auth, Identity, Organization } from '@muster/platform/auth';
import type { Recordable } from '@muster/platform/log';
import {
  type Course,
  type CourseNodes,
  lackingIn,
  type Plan,
  type RunbookLayer,
  startOrAsk,
  underAgreement,
} from '@muster/push';
import type { Write } from '@muster/store';
import type { Tasks } from '@muster/tasks';
import { readNewTask } from '@muster/tasks';
import { MusterError } from './errors.js';
import { type Attributes, fill, fillAll } from './template.js';
import type { Rule, RuleAgreement, Work } from './types.js';

export interface StartingDeps {
  readonly auth: Pick<Auth, 'authorize' | 'organizations' | 'rights'>;
  readonly runbooks: RunbookLayer;
  readonly tasks: Pick<Tasks, 'controller'>;
  readonly jobs: { readonly acceptance: Pick<Acceptance, 'submitOnce'> };
  /** Most bytes of parameters of a task. */
  readonly maxParams: number;
}

/** What is stored with what was started. */
export type Along = (
  run: string,
  /** It is an approval, for which it waits. */
  isAsked?: boolean,
) => { readonly writes: readonly Write[]; readonly events: readonly Recordable[] };

export interface StartedWork {
  /** Id of the push job, of the approval that it waits for, of the task or of the job. */
  readonly run: string;
  /** False: `along` was not stored with it. */
  readonly stored: boolean;
}

type RunbookWork = Extract<Work, { kind: 'runbook' }>;
type TaskWork = Extract<Work, { kind: 'task' }>;

/** What its starts have in common. */
interface Ready {
  readonly work: RunbookWork;
  readonly course: Course;
  /** null: it is not narrowed to one of them. */
  readonly nodes: CourseNodes | null;
}

/** How what rules start is checked, and started. */
export class Starting {
  readonly #deps: StartingDeps;

  constructor(deps: StartingDeps) {
    this.#deps = deps;
  }

  /** May they start this? @throws MusterError `forbidden`, `not_found` */
  async assertMay(as: Identity, org: Organization, work: Work): Promise<void> {
    const { auth, runbooks } = this.#deps;
    if (work.kind === 'runbook') await runbooks.runbooks.existing(org, work.runbook);
    const [permission, subject] = rightTo(work);
    if (!(await auth.authorize(as, org, permission, subject))) throw auth.rights.forbidden(as.name, permission);
  }

  /** Can it go well at all, as its runbook is now? @throws MusterError `not_found`, `invalid_field` for a parameter */
  async assertFits(org: Organization, work: Work): Promise<void> {
    if (work.kind !== 'runbook') return;
    await this.#deps.runbooks.runbooks.checkGiven(org, work.runbook, Object.keys(work.parameters));
  }

  /** One's own, or any for admins. @throws MusterError `forbidden` */
  async assertMayChange(as: Identity, { org, owner }: Rule): Promise<void> {
    const { auth } = this.#deps;
    if (as.principalId === owner.principalId || (await auth.authorize(as, org, 'org:admin'))) return;
    throw auth.rights.forbidden(as.name, 'org:admin');
  }

  /** May they look at it? */
  mayRead(as: Identity, org: Organization, work: Work): Promise<boolean> {
    const [permission, subject] = rightToRead(work);
    return this.#deps.auth.authorize(as, org, permission, subject);
  }

  /**
   * With the attributes of an event in the place of their names.
   * @param once The same for the same event: of a job, which is stored before what is stored along, there is one of it.
   * @throws Unfilled; MusterError as when it is started by hand.
   */
  async start(
    as: Identity,
    org: Organization,
    { work, agreement }: Pick<Rule, 'agreement' | 'work'>,
    event: Attributes,
    once: string,
    along: Along,
  ): Promise<StartedWork> {
    await this.assertMay(as, org, work);
    switch (work.kind) {
      case 'runbook':
        return this.#runbook(as, org, { work, agreement }, event, along);
      case 'task':
        return this.#task(as, org, work, event, along);
      case 'job':
        return this.#job(as, org, work, event, once);
    }
  }

  /**
   * Judges events as `start` does, as far as that is known before. What does not hang on the event is looked up once, with the first.
   * @returns Throws as `start`.
   */
  foresee(org: Organization, work: Work): (event: Attributes) => Promise<void> {
    switch (work.kind) {
      case 'runbook':
        return this.#foreseeRunbook(org, work);
      case 'task':
        return async (event) => void this.#readTask(work, event);
      case 'job':
        return async (event) => void fillAll(work.request, event);
    }
  }

  #foreseeRunbook(org: Organization, work: RunbookWork): (event: Attributes) => Promise<void> {
    const { runbooks } = this.#deps.runbooks;
    let ready: Promise<Ready> | null = null;
    let admitted: Promise<void> | null = null;
    return async (event) => {
      ready ??= this.#ready(org, work);
      const plan = this.#plan(org, await ready, event);
      // What is asked for is judged when it is granted.
      if (plan.asked !== null) return;
      runbooks.checkPlan(plan);
      admitted ??= runbooks.admitPlan(org, plan);
      await admitted;
    };
  }

  async #ready(org: Organization, work: RunbookWork): Promise<Ready> {
    const { runbooks } = this.#deps.runbooks;
    const course = await runbooks.course(org, await runbooks.existing(org, work.runbook));
    return { work, course, nodes: work.node === null ? null : await runbooks.nodes(org, course) };
  }

  #plan(org: Organization, { work, course, nodes }: Ready, event: Attributes): Plan {
    const { runbooks } = this.#deps.runbooks;
    const parameters = fillAll(work.parameters, event) as RunbookWork['parameters'];
    const plan = runbooks.planOn(org, course, parameters);
    return work.node === null || nodes === null ? plan : runbooks.narrow(plan, nodes, fill(work.node, event));
  }

  #readTask({ task, place }: TaskWork, event: Attributes): ReturnType<typeof readNewTask> {
    const read = readNewTask(fillAll(task, event), this.#deps.maxParams);
    return place === undefined ? read : { ...read, options: { ...read.options, place } };
  }

  async #runbook(
    as: Identity,
    org: Organization,
    { work, agreement }: { readonly work: RunbookWork; readonly agreement: RuleAgreement | null },
    event: Attributes,
    along: Along,
  ): Promise<StartedWork> {
    const { runbooks, approvals } = this.#deps.runbooks;
    const plan = this.#plan(org, await this.#ready(org, work), event);
    const order = runbooks.orderOf(plan);
    const { asked, author, mark } = plan;
    const { id, version } = agreement?.runbook ?? {};
    // Others agreed to the runbook as it was then.
    const stands = agreement !== null && id === mark.id && version === mark.version ? agreement : null;
    const agreed = stands && { agreed: underAgreement(stands) };
    const start = () => runbooks.start(org, order, { asker: as, author, along, ...agreed });
    const still = asked && (stands === null ? asked : lackingIn(stands, asked));
    const attempted = await startOrAsk(approvals, org, {
      ...{ order, asker: as, asked: still, start },
      along: (id) => along(id, true),
    });
    return { run: 'approval' in attempted ? attempted.approval.id : attempted.job, stored: true };
  }

  async #task(as: Identity, org: Organization, work: TaskWork, event: Attributes, along: Along): Promise<StartedWork> {
    const { auth, tasks } = this.#deps;
    const { queueId } = work;
    const added = this.#readTask(work, event);
    const by = { identity: as, record: [auth.organizations.present(org)] };
    const [one] = await tasks.controller.add(org, queueId, [added], by, ([first]) => along(first?.id ?? ''));
    if (one === undefined) throw new MusterError('not_found', { kind: 'queue', name: queueId });
    return { run: one.id, stored: one.created };
  }

  async #job(
    as: Identity,
    org: Organization,
    { request }: Extract<Work, { kind: 'job' }>,
    event: Attributes,
    once: string,
  ): Promise<StartedWork> {
    const { auth, jobs } = this.#deps;
    const asker = await askerOf(auth, as, org);
    const { uuid } = await jobs.acceptance.submitOnce(org, asker, fillAll(request, event), once);
    return { run: uuid, stored: false };
  }
}

/** A permission, and of what. */
type Right =
  | readonly ['job:admin' | 'job:use']
  | readonly ['queue:read' | 'queue:write' | 'runbook:read' | 'runbook:run', string];

function rightTo(work: Work): Right {
  switch (work.kind) {
    case 'runbook':
      return ['runbook:run', work.runbook];
    case 'task':
      return ['queue:write', work.queueId];
    case 'job':
      return ['job:use'];
  }
}

/** To look at what somebody else's rule starts. */
export function rightToRead(work: Work): Right {
  switch (work.kind) {
    case 'runbook':
      return ['runbook:read', work.runbook];
    case 'task':
      return ['queue:read', work.queueId];
    case 'job':
      return ['job:admin'];
  }
}
