import type { Auth } from '@muster/platform/auth';
import type { Base, Layer } from '@muster/platform/layers';
import { Approvals } from '../approvals/approvals.js';
import type { Push } from '../layer.js';
import { pushAccess } from '../routes/access.js';
import { Runbooks } from './runbooks.js';

export interface RunbookLayerDeps {
  readonly auth: Auth;
  readonly push: Pick<Push, 'commands' | 'controller' | 'files' | 'limits' | 'nodes' | 'owners' | 'secrets'>;
}

export interface RunbookLayer extends Required<Pick<Layer, 'start' | 'stop'>> {
  readonly runbooks: Runbooks;
  readonly approvals: Approvals;
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
    previews: { nodes, owners, commands },
    files,
  });
  const approvals = new Approvals({
    store,
    recorder,
    clock,
    random,
    auth,
    keep: config.push.keep,
    start: (org, order, by) => runbooks.start(org, order, by),
    failed: (error) => logger.warn({ err: error }, 'approvals whose time is over could not be ended'),
  });
  return { runbooks, approvals, start: () => approvals.start(), stop: () => approvals.stop() };
}
