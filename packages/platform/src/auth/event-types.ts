import { Type } from 'typebox';
import { OwnEvents } from '../log/own-events.js';
import { AUTH_ACTIONS, type AuthAction } from './actions.js';

/** Events of changes of identity all look the same. */
export const AUTH_EVENT = {
  attributes: Type.Object({
    actor: Type.String({ description: 'Who did it' }),
    actor_kind: Type.String({ description: 'What that is: `user`, `node`, `service` or `server`' }),
    target: Type.String({ description: 'What it was done to' }),
  }),
  data: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()])),
} as const;

type AuthSchemas = Readonly<Record<`auth.${AuthAction}`, typeof AUTH_EVENT & { readonly summary: string }>>;

const schemas = Object.fromEntries(
  Object.entries(AUTH_ACTIONS).map(([action, summary]) => [`auth.${action}`, { summary, ...AUTH_EVENT }]),
) as unknown as AuthSchemas;

/** What is told of the audit: that there is more in it. */
export const AUDIT_EVENTS = new OwnEvents({
  prefix: 'audit.',
  followers: 'org:admin',
  schemas: {
    'audit.sealed': {
      summary: 'Entries were added to the audit, and sealed: at most once a second.',
      attributes: Type.Object({ seal: Type.Integer({ description: 'Number of the seal' }) }),
      data: Type.Object({ entries: Type.Integer({ description: 'How many it seals' }) }),
    },
  },
});

/** What is told of changes of identity: `auth.` and the action as the audit has it. */
export const AUTH_EVENTS = new OwnEvents({ prefix: 'auth.', followers: 'org:admin', schemas });
