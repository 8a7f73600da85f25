import { Type } from 'typebox';
import { type App, isOpen } from './route.js';

const NONE = Type.Object({}, { additionalProperties: false });

/**
 * Routes without query parameters refuse them, as those with some refuse any other: a typing error must not look like an
 * answer. Public ones do not: what asks them (probes, browsers) adds parameters of its own.
 */
export function refuseQueries(app: App): void {
  app.addHook('onRoute', (route) => {
    const { permission } = route.config ?? {};
    if (permission === undefined || isOpen(permission)) return;
    route.schema = { ...route.schema, querystring: route.schema?.querystring ?? NONE };
  });
}
