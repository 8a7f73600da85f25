import { whilePresent } from '@muster/platform/auth';
import type { App as Http } from '@muster/platform/http';
import { Type } from 'typebox';
import { MusterError } from '../errors.js';
import { addCatalogRoute, audited, type CatalogAuth, type CatalogCall, readAction } from '../routes/catalog.js';
import { Narrowing } from '../routes/narrowing.js';
import { type AppStore, mayRun } from './app-store.js';
import { readApp } from './definition.js';
import { AppAnswer, AppSummaryAnswer } from './schemas.js';
import type { App } from './types.js';
import { appSummary, appView } from './view.js';

export interface AppRoutesDeps extends CatalogAuth {
  readonly apps: AppStore;
}

const ACTIONS = ['enable', 'disable', 'publish', 'unpublish'] as const;
const PATCHES = {
  enable: { enabled: true },
  disable: { enabled: false },
  publish: { isPublic: true },
  unpublish: { isPublic: false },
} as const;

/** Apps in Agave's shape. Who registers one decides what runs on systems: that needs `job:admin`. */
export function appRoutes(http: Http, deps: AppRoutesDeps): void {
  const { apps } = deps;
  const visible = async ({ organization, user, admin, id }: CatalogCall): Promise<App> => {
    const app = await apps.find(organization.id, id);
    if (app === null || !mayRun(app, user, admin)) throw new MusterError('job_app_not_found', { app: id.slice(0, 80) });
    return app;
  };
  const register = async (call: CatalogCall, status: 200 | 201) => {
    const { organization, request, user, root, id } = call;
    const definition = readApp(await call.body());
    if (id !== '' && id !== definition.id) {
      throw new MusterError('invalid_field', { field: 'app.version', reason: `the path names ${id.slice(0, 80)}` });
    }
    const also = audited(deps, request, 'app.register', definition.id);
    const app = await whilePresent(organization, apps.put(organization, definition, user, also));
    return { status, result: appView(app, root) };
  };

  addCatalogRoute(http, deps, {
    method: 'GET',
    path: '/apps/v2',
    operationId: 'listApps',
    result: Type.Array(AppSummaryAnswer),
    summary: 'Apps that one may run',
    description: 'Narrowed by `publicOnly`, `privateOnly`, and `name.like` (`*` stands for anything).',
    async handle({ organization, user, admin, query, root }) {
      const narrowing = new Narrowing(query, ['publicOnly', 'privateOnly', 'name.like']);
      const { publicity } = narrowing;
      const like = narrowing.text('name.like');
      const { limit, offset } = query.list;
      const found = await apps.list(organization.id, { owner: admin ? null : user, publicity, like, limit, offset });
      return { result: found.map((app) => appSummary(app, root)) };
    },
  });

  addCatalogRoute(http, deps, {
    method: 'GET',
    path: '/apps/v2/:id',
    operationId: 'getApp',
    result: AppAnswer,
    summary: 'One app, and what it takes',
    handle: async (call) => ({ result: appView(await visible(call), call.root) }),
  });

  addCatalogRoute(http, deps, {
    method: 'POST',
    path: '/apps/v2',
    operationId: 'registerApp',
    result: AppAnswer,
    summary: 'Register an app, or replace the one of this name and version',
    handle: (call) => register(call, 201),
  });

  addCatalogRoute(http, deps, {
    method: 'POST',
    path: '/apps/v2/:id',
    operationId: 'replaceApp',
    result: AppAnswer,
    summary: 'Replace an app',
    handle: (call) => register(call, 200),
  });

  addCatalogRoute(http, deps, {
    method: 'PUT',
    path: '/apps/v2/:id',
    operationId: 'changeApp',
    result: AppAnswer,
    summary: 'Enable, disable, publish or unpublish an app: `{"action": "disable"}`',
    async handle({ organization, request, id, root, body }) {
      const action = readAction(await body(), ACTIONS);
      const also = audited(deps, request, `app.${action}`, id.slice(0, 80));
      const app = await whilePresent(organization, apps.change(organization, id, PATCHES[action], also));
      return { result: appView(app, root) };
    },
  });

  addCatalogRoute(http, deps, {
    method: 'DELETE',
    path: '/apps/v2/:id',
    operationId: 'deleteApp',
    result: Type.Null(),
    summary: 'Delete an app; its jobs go on',
    async handle({ organization, request, id }) {
      const also = audited(deps, request, 'app.delete', id.slice(0, 80));
      await whilePresent(organization, apps.remove(organization, id, also));
      return {};
    },
  });
}
