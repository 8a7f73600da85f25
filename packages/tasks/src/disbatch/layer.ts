import type { Auth } from '@muster/platform/auth';
import { organizationsById } from '@muster/platform/auth';
import { readTls } from '@muster/platform/config';
import type { App } from '@muster/platform/http';
import type { Base, Layer } from '@muster/platform/layers';
import type { FastifyBaseLogger } from 'fastify';
import type { TaskController } from '../ports.js';
import { Balancer } from './balance/balancer.js';
import { createDisbatchApp } from './http/app.js';
import { importRoutes } from './http/import-routes.js';
import { DisbatchListener } from './http/listener.js';
import { organizationRoutes } from './http/organization-routes.js';
import type { DisbatchDeps } from './interface.js';
import { disbatchRoutes } from './routes/index.js';

export interface DisbatchLayerDeps {
  readonly auth: Pick<Auth, 'audit' | 'authentication' | 'authorize' | 'organizations'>;
  readonly controller: TaskController;
  readonly logger: FastifyBaseLogger;
}

export interface Disbatch extends Required<Pick<Layer, 'start' | 'stop'>> {
  /** Below the organizations, in the server's own API. */
  routes(app: App): void;
  /** Where it listens by itself, once it does; null: it is not asked to. */
  readonly url: string | null;
}

/** The command interface for clients of Disbatch, composed. */
export function createDisbatch(base: Base, { auth, controller, logger }: DisbatchLayerDeps): Disbatch {
  const { store, clock, config } = base;
  const { disbatch } = config;
  const deps: DisbatchDeps = {
    controller,
    store,
    clock,
    audit: auth.audit,
    present: (organization) => auth.organizations.present(organization),
    settings: {
      dialect: disbatch.dialect,
      gfs: disbatch.gfs,
      monitoring: disbatch.monitoring,
      balance: { enabled: disbatch.balance, pretend: disbatch.balance_pretend },
      indexes: disbatch.indexes.map((fields) => fields.split(',').map((field) => field.trim())),
    },
  };
  const routes = disbatchRoutes(deps);
  const tls = readTls(config, 'disbatch');
  const { listen, org: organization, web_root: webRoot } = disbatch;
  const listener =
    listen === undefined
      ? null
      : new DisbatchListener(listen, tls !== undefined, () =>
          createDisbatchApp({ ...deps, auth, logger, organization, webRoot, ...(tls && { tls }) }, routes),
        );
  const balancer = disbatch.balance
    ? new Balancer({
        store,
        clock,
        controller,
        logger: base.logger,
        organization: async (id) => (await organizationsById(store.read)).get(id),
        pretend: disbatch.balance_pretend,
      })
    : null;
  return {
    routes: (app) => {
      organizationRoutes(app, routes, deps);
      importRoutes(app, { ...deps, maxParams: config.tasks.max_params });
    },
    get url() {
      return listener?.url ?? null;
    },
    async start() {
      balancer?.start();
      await listener?.start();
    },
    async stop() {
      await Promise.all([listener?.stop(), balancer?.stop()]);
    },
  };
}
