import type { Auth, Identity, Organization } from '@muster/platform/auth';
import type { Recordable } from '@muster/platform/log';
import type { RunbookLayer } from '@muster/push';
import type { Write } from '@muster/store';
import type { Tasks } from '@muster/tasks';
import { readNewTask } from '@muster/tasks';
import { MusterError } from './errors.js';
import { type Attributes, fill, fillAll } from './template.js';
import type { Work } from './types.js';

export interface StartingDeps {
  readonly auth: Pick<Auth, 'authorize' | 'organizations' | 'rights'>;
  readonly runbooks: RunbookLayer;
  readonly tasks: Pick<Tasks, 'controller'>;
  /** Most bytes of parameters of a task. */
  readonly maxParams: number;
}

/** What is stored with what was started. */
export type Along = (run: string) => { readonly writes: readonly Write[]; readonly events: readonly Recordable[] };

export interface StartedWork {
  /** Id of the push job, of the approval that it waits for, or of the task. */
  readonly run: string;
  /** False: `along` was not stored with it. */
  readonly stored: boolean;
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

  /** May they look at it? */
  mayRead(as: Identity, org: Organization, work: Work): Promise<boolean> {
    return work.kind === 'runbook'
      ? this.#deps.auth.authorize(as, org, 'runbook:read', work.runbook)
      : this.#deps.auth.authorize(as, org, 'queue:read', work.queueId);
  }

  /**
   * With the attributes of an event in the place of their names.
   * @throws Unfilled; MusterError as when it is started by hand.
   */
  async start(as: Identity, org: Organization, work: Work, event: Attributes, along: Along): Promise<StartedWork> {
    await this.assertMay(as, org, work);
    return work.kind === 'runbook'
      ? this.#runbook(as, org, work, event, along)
      : this.#task(as, org, work, event, along);
  }

  async #runbook(
    as: Identity,
    org: Organization,
    work: Extract<Work, { kind: 'runbook' }>,
    event: Attributes,
    along: Along,
  ): Promise<StartedWork> {
    const { runbooks, approvals } = this.#deps.runbooks;
    const parameters = fillAll(work.parameters, event) as Readonly<Record<string, string | number>>;
    const row = await runbooks.existing(org, work.runbook);
    const plan = await runbooks.plan(org, row, { parameters });
    const order = runbooks.orderOf(
      work.node === null ? plan : await runbooks.narrow(org, plan, fill(work.node, event)),
    );
    if (plan.terms !== null) {
      const { id } = await approvals.ask(org, order, as, plan.terms);
      return { run: id, stored: false };
    }
    return { run: await runbooks.start(org, order, { asker: as, author: plan.author, along }), stored: true };
  }

  async #task(
    as: Identity,
    org: Organization,
    { queueId, task }: Extract<Work, { kind: 'task' }>,
    event: Attributes,
    along: Along,
  ): Promise<StartedWork> {
    const { auth, tasks, maxParams } = this.#deps;
    const added = readNewTask(fillAll(task, event), maxParams);
    const by = { identity: as, record: [auth.organizations.present(org)] };
    const [one] = await tasks.controller.add(org, queueId, [added], by, ([first]) => along(first?.id ?? ''));
    if (one === undefined) throw new MusterError('not_found', { kind: 'queue', name: queueId });
    return { run: one.id, stored: one.created };
  }
}

function rightTo(work: Work): ['runbook:run', string] | ['queue:write', string] {
  return work.kind === 'runbook' ? ['runbook:run', work.runbook] : ['queue:write', work.queueId];
}
