import { actorOf, whilePresent } from '@muster/platform/auth';
import type { ServerConfig } from '@muster/platform/config';
import type { App } from '@muster/platform/http';
import type { Store } from '@muster/store';
import { type Static, Type } from 'typebox';
import { START_LIMITS } from '../limits.js';
import { type Approval, type PushSettings, pushSettings, savePushSettings } from '../repository/settings.js';
import { invalid } from '../request/fields.js';
import { parseShare } from '../request/shares.js';
import type { JobRouteDeps } from './job-routes.js';
import * as schemas from './schemas.js';

const most = (description: string) =>
  Type.Union([Type.Integer({ minimum: 1, maximum: START_LIMITS.most }), Type.Null()], { description });

const SETTINGS = {
  quorum: Type.Union([Type.String(), Type.Null()], {
    description: 'Quorum of jobs that ask for `"default"`: a percentage such as "80%"; null: all nodes',
  }),
  max_nodes: most('Most nodes in one job; null: as many as the server allows'),
  max_running: most('Most jobs of one user that go on at one time; null: as many as the server allows'),
  max_starts: most('Most jobs that one user starts within a minute; null: as many as the server allows'),
  approval: Type.Unsafe<Approval>(
    Type.Union([Type.Literal('none'), Type.Literal('runbooks')], {
      description:
        'What needs a second person: every run of all `runbooks`, or `none` but those that ask for one themselves',
    }),
  ),
};
const strict = { additionalProperties: false };
const Settings = Type.Object(SETTINGS, strict);
const Changes = Type.Partial(Settings, { ...strict, description: 'What is not given stays as it is' });

function view({ quorum, maxNodes, maxRunning, maxStarts, approval }: PushSettings) {
  return { quorum, max_nodes: maxNodes, max_running: maxRunning, max_starts: maxStarts, approval };
}

const URL = '/organizations/:org/pushy/settings';
const tags = ['push jobs'];

/** What an organization sets for its push jobs. */
export function settingsRoutes(app: App, deps: JobRouteDeps & { readonly store: Pick<Store, 'persist'> }): void {
  const { read, store, audit, access, config } = deps;
  app.route({
    method: 'GET',
    url: URL,
    config: { permission: 'member' },
    schema: {
      tags,
      operationId: 'getPushSettings',
      summary: 'What the organization has set for its push jobs',
      params: schemas.OrgParams,
      response: { 200: Settings },
    },
    handler: async ({ organization }) => view(await pushSettings(read, organization.id)),
  });

  app.route({
    method: 'PUT',
    url: URL,
    // A token that leaked must not lower what the jobs of others need.
    config: { permission: 'org:admin', empowers: true },
    schema: {
      tags,
      operationId: 'setPushSettings',
      summary: 'Set it',
      description:
        'Jobs that name a quorum, or none, are not concerned by that: only those with the quorum `"default"`. Limits hold for everybody, and narrow those of the server: a greater one is refused.',
      params: schemas.OrgParams,
      body: Changes,
      response: { 200: Settings },
    },
    handler: async ({ organization, caller, body }) => {
      checkNarrower(body, config);
      const before = await pushSettings(read, organization.id);
      const settings: PushSettings = {
        quorum: body.quorum === undefined ? before.quorum : body.quorum,
        maxNodes: body.max_nodes === undefined ? before.maxNodes : body.max_nodes,
        maxRunning: body.max_running === undefined ? before.maxRunning : body.max_running,
        maxStarts: body.max_starts === undefined ? before.maxStarts : body.max_starts,
        approval: body.approval ?? before.approval,
      };
      const { quorum } = settings;
      const share = quorum === null ? null : parseShare(quorum);
      if (share === undefined) throw invalid('quorum', 'must be a percentage such as "80%", or null');
      if (typeof share === 'string') throw invalid('quorum', share);
      const entry = {
        orgId: organization.id,
        actor: actorOf(caller),
        action: 'push.settings',
        target: organization.name,
        outcome: 'done',
        detail: audited(settings, Object.keys(body)),
      } as const;
      const saved = savePushSettings(organization.id, settings);
      const storing = store.persist([access.present(organization), saved, audit.write(entry)]);
      await whilePresent(organization, storing);
      return view(settings);
    },
  });
}

/** What is above the server's limit would never hold. @throws MusterError `invalid_field` */
function checkNarrower(given: Static<typeof Changes>, { push }: Pick<ServerConfig, 'push'>): void {
  for (const field of ['max_nodes', 'max_running', 'max_starts'] as const) {
    const [limit, allowed] = [given[field] ?? 0, push[field]];
    if (allowed === 0 || limit <= allowed) continue;
    const flag = `--${field.replace('_', '-')}`;
    const ways = `null (muster org set ORG ${flag} all) is as many as the server allows; whoever runs the server can raise push.${field}`;
    throw invalid(field, `must not be more than the ${allowed} that the server allows; ${ways}`);
  }
}

/** All as it is from now on, and what of it somebody has set: `all` is a choice, too. */
function audited(
  { quorum, approval, ...limits }: PushSettings,
  given: readonly string[],
): Record<string, string | number> {
  const { maxNodes, maxRunning, maxStarts } = limits;
  return {
    set: given.join(', '),
    quorum: quorum ?? 'all nodes',
    approval,
    max_nodes: maxNodes ?? 'all',
    max_running: maxRunning ?? 'all',
    max_starts: maxStarts ?? 'all',
  };
}
