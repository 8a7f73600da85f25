import { Type } from 'typebox';
import type { Auth } from '../auth/auth.js';
import { AUTH_LIMITS } from '../auth/limits.js';
import { LackAnswer, OrgParams } from '../directory/schemas.js';
import type { App } from '../http/route.js';
import { type Finder, FoundKind } from './finder.js';

export const FIND_LIMITS = {
  /** Characters of what is sought. */
  text: 100,
  /** Of each kind. */
  most: 5,
} as const;

const FindQuery = Type.Object(
  {
    q: Type.String({
      minLength: 1,
      maxLength: FIND_LIMITS.text,
      pattern: '\\S',
      description: 'A part of a name or a command, or the beginning of an id',
    }),
  },
  { additionalProperties: false },
);
const Answer = Type.Object({
  found: Type.Array(
    Type.Object({
      kind: FoundKind,
      id: Type.String({ description: 'By which the API knows it: of what has names, the name' }),
      name: Type.String(),
      more: Type.Union([Type.String(), Type.Null()], { description: 'How it stands, or what it is for' }),
    }),
    { description: `Of each kind at most ${FIND_LIMITS.most}` },
  ),
  left_out: Type.Array(
    Type.Object({
      kind: FoundKind,
      ...LackAnswer.properties,
    }),
    { description: 'Kinds that the caller may not look at' },
  ),
});

/** Anything, by what somebody types into one box. */
export function findRoutes(
  app: App,
  { auth, finders }: { readonly auth: Pick<Auth, 'authorize' | 'rights'>; readonly finders: readonly Finder[] },
): void {
  app.get(
    '/organizations/:org/search',
    {
      config: { permission: 'member' },
      schema: {
        tags: ['organizations'],
        operationId: 'search',
        summary: 'What is called so, or whose id begins so, of every kind that the caller may look at',
        description: `Push jobs are found by the beginning of their id, the newest also by their command; tasks by at least 8 digits of their id; of jobs the ones that changed last; of users and services the first ${AUTH_LIMITS.peopleShown} by name.`,
        params: OrgParams,
        querystring: FindQuery,
        response: { 200: Answer },
      },
    },
    async ({ organization, caller, query }) => {
      // No name has it, and PostgreSQL takes none.
      const text = query.q.trim().replaceAll('\0', '\uFFFD');
      const found = [];
      const leftOut = [];
      for (const finder of finders) {
        const { kind, permission } = finder;
        if (permission !== null && !(await auth.authorize(caller, organization, permission))) {
          leftOut.push({ kind, ...auth.rights.lack(permission) });
          continue;
        }
        const all = await finder.find({ caller, organization, text, most: FIND_LIMITS.most });
        for (const one of all.slice(0, FIND_LIMITS.most)) found.push({ kind, ...one });
      }
      return { found, left_out: leftOut };
    },
  );
}
