import { whilePresent } from '@muster/platform/auth';
import type { App as Http } from '@muster/platform/http';
import { Type } from 'typebox';
import { MusterError } from '../errors.js';
import { addCatalogRoute, audited, type CatalogAuth, type CatalogCall, readAction } from '../routes/catalog.js';
import { Narrowing } from '../routes/narrowing.js';
import { fromAgave, isAgave, systemSummary, systemView } from './agave.js';
import { readSystem } from './definition.js';
import { SystemAnswer, SystemSummaryAnswer } from './schemas.js';
import type { SystemStore } from './system-store.js';

export interface SystemRoutesDeps extends CatalogAuth {
  readonly systems: SystemStore;
}

const ACTIONS = ['enable', 'disable', 'setDefault', 'unsetDefault'] as const;
const PATCHES = {
  enable: { enabled: true },
  disable: { enabled: false },
  setDefault: { default: true },
  unsetDefault: { default: false },
} as const;

/**
 * Systems in Agave's shape; definitions are taken in our own, too (`type`: local, ssh, agent or tasks). One of type local is this very
 * host, as the user that the server or worker runs as: only server administrators define such, with a signed request.
 */
export function systemRoutes(http: Http, deps: SystemRoutesDeps): void {
  const { systems, auth } = deps;
  const register = async (call: CatalogCall, status: 200 | 201) => {
    const { organization, request, user, root, id } = call;
    const body = await call.body();
    const definition = readSystem(isAgave(body) ? fromAgave(body) : body);
    if (id !== '' && id !== definition.name) {
      throw new MusterError('invalid_field', { field: 'system.name', reason: `the path names ${id.slice(0, 64)}` });
    }
    const { caller } = request;
    if (definition.type === 'local') {
      if (!caller.serverAdmin) throw auth.rights.forbidden(caller.name, 'server:admin');
      // Whoever may run commands as the server's user may become anybody.
      if (caller.publicKey === null) throw new MusterError('signature_required', { name: caller.name });
    }
    const also = audited(deps, request, 'system.register', definition.name);
    const system = await whilePresent(organization, systems.put(organization, definition, user, also));
    return { status, result: systemView(system, root) };
  };

  addCatalogRoute(http, deps, {
    method: 'GET',
    path: '/systems/v2',
    operationId: 'listSystems',
    result: Type.Array(SystemSummaryAnswer),
    summary: 'Systems on which jobs run and files are kept',
    description:
      'Narrowed by `type`, `default`, `public`, `publicOnly` and `privateOnly`, by what the list shows of each.',
    async handle({ organization, query, root }) {
      const narrowing = new Narrowing(query, ['type', 'default', 'public', 'publicOnly', 'privateOnly']);
      const { limit, offset } = query.list;
      const isDefault = narrowing.flag('default');
      const isPublic = narrowing.flag('public') ?? true;
      // All are public, run jobs and keep files: whoever asks for either kind means all.
      narrowing.oneOf('type', ['EXECUTION', 'STORAGE']);
      const some = isPublic && narrowing.publicity.includes(true);
      const all = some ? await systems.list(organization.id) : [];
      const found = all.filter((system) => isDefault === null || system.default === isDefault);
      return { result: found.slice(offset, offset + limit).map((system) => systemSummary(system, root)) };
    },
  });

  addCatalogRoute(http, deps, {
    method: 'GET',
    path: '/systems/v2/:id',
    operationId: 'getSystem',
    result: SystemAnswer,
    summary: 'One system; what opens it is not shown',
    async handle({ organization, id, root }) {
      const system = await systems.find(organization.id, id);
      if (system === null) throw new MusterError('not_found', { kind: 'system', name: id.slice(0, 80) });
      return { result: systemView(system, root) };
    },
  });

  addCatalogRoute(http, deps, {
    method: 'POST',
    path: '/systems/v2',
    operationId: 'registerSystem',
    result: SystemAnswer,
    summary: 'Register a system, or replace the one of this name',
    handle: (call) => register(call, 201),
  });

  addCatalogRoute(http, deps, {
    method: 'POST',
    path: '/systems/v2/:id',
    operationId: 'replaceSystem',
    result: SystemAnswer,
    summary: 'Replace a system',
    handle: (call) => register(call, 200),
  });

  addCatalogRoute(http, deps, {
    method: 'PUT',
    path: '/systems/v2/:id',
    operationId: 'changeSystem',
    result: SystemAnswer,
    summary: 'Enable or disable a system, or make it the default one: `{"action": "setDefault"}`',
    async handle({ organization, request, id, root, body }) {
      const action = readAction(await body(), ACTIONS);
      const also = audited(deps, request, `system.${action}`, id.slice(0, 80));
      const system = await whilePresent(organization, systems.change(organization, id, PATCHES[action], also));
      return { result: systemView(system, root) };
    },
  });

  addCatalogRoute(http, deps, {
    method: 'DELETE',
    path: '/systems/v2/:id',
    operationId: 'deleteSystem',
    result: Type.Null(),
    summary: 'Delete a system that no job needs',
    async handle({ organization, request, id }) {
      const also = audited(deps, request, 'system.delete', id.slice(0, 80));
      await whilePresent(organization, systems.remove(organization, id, also));
      return {};
    },
  });
}
