import { type Auth, type Organization, principalNow } from '@muster/platform/auth';
import type { Base, Layer } from '@muster/platform/layers';
import { Approvals, type Startable } from '../approvals/approvals.js';
import type { RunbookOrder } from '../approvals/order.js';
import { Policies } from '../approvals/policies.js';
import { MusterError } from '../errors.js';
import type { Push } from '../layer.js';
import { submitJob } from '../request/submission.js';
import { pushAccess } from '../routes/access.js';
import { Runbooks } from './runbooks.js';

export interface RunbookLayerDeps {
  readonly auth: Auth;
  readonly push: Pick<Push, 'commands' | 'controller' | 'files' | 'limits' | 'nodes' | 'owners' | 'secrets'>;
}

export interface RunbookLayer extends Required<Pick<Layer, 'start' | 'stop'>> {
  readonly runbooks: Runbooks;
  readonly approvals: Approvals;
  readonly policies: Policies;
}

/** Both as they are now: who asked, and the author, with whose rights nodes are asked. */
function runbookRuns(
  runbooks: Runbooks,
  { repository, authorize }: Pick<Auth, 'authorize' | 'repository'>,
): Startable<'runbook'> {
  const authorOf = (org: Organization, { author }: RunbookOrder) => principalNow(repository, org, author);
  return {
    async void(org, order, asker) {
      const { runbook, author } = order;
      if (!(await authorize(asker, org, 'runbook:run', runbook.name))) {
        return `${asker.name} may not run ${runbook.name} any more`;
      }
      const stands = await authorOf(org, order);
      if (stands !== null && (await authorize(stands, org, 'push:execute'))) return null;
      return `${author.name}, its author, may start no push jobs any more`;
    },
    async start(org, order, granted) {
      const author = await authorOf(org, order);
      if (author === null)
        throw new MusterError('runbook_without_author', { name: order.runbook.name, author: order.author.name });
      return runbooks.start(org, order, { ...granted, author });
    },
  };
}

/** Saved commands, and the second person that they may need, composed. Started after push jobs, and stopped before them. */
export function createRunbooks(base: Base, { auth, push }: RunbookLayerDeps): RunbookLayer {
  const { store, recorder, clock, random, logger, config } = base;
  const { commands, controller, files, limits, nodes, owners, secrets } = push;
  const access = pushAccess(auth);
  const maxNodes = config.push.max_nodes;
  const submission = {
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
    random,
  };
  const runbooks = new Runbooks({
    store,
    recorder,
    clock,
    random,
    auth,
    submission,
    secrets,
    previews: { nodes, owners, commands },
    files,
  });
  const approvals = new Approvals({
    store,
    recorder,
    clock,
    random,
    auth,
    kept: files,
    keep: config.push.keep,
    failed: (error) => logger.warn({ err: error }, 'approvals whose time is over could not be ended'),
  });
  approvals.handle('runbook', runbookRuns(runbooks, auth));
  approvals.handle('command', {
    void: async (org, _order, asker) =>
      (await auth.authorize(asker, org, 'push:execute')) ? null : `${asker.name} may start no push jobs any more`,
    start: (org, { request }, { asker, ...granted }) => submitJob(submission, asker, org, request, granted),
  });
  files.heldBy(() => approvals.files());
  const policies = new Policies({ store, recorder, auth });
  return { runbooks, approvals, policies, start: () => approvals.start(), stop: () => approvals.stop() };
}
