import { fingerprintOf } from '@muster/signing';
import { Type } from 'typebox';
import { actorOf } from '../auth/types.js';
import type { App } from '../http/route.js';
import { SERVER_KEY_LIMITS } from './limits.js';
import type { RotatingServerKey } from './rotating-key.js';
import type { ServerKeyRotation } from './rotation.js';

export interface ServerKeyRouteDeps {
  readonly key: RotatingServerKey;
  readonly rotation: ServerKeyRotation;
  /** Of agents that are connected: how many there are, and how many have asked for their configuration since then. */
  readonly agents: (since: number) => { readonly up: number; readonly told: number };
}

const STRICT = { additionalProperties: false } as const;
const tags = ['server key'];
const Time = Type.String({ description: 'ISO 8601' });
const Fingerprint = Type.String({ description: 'SHA-256 of the SPKI DER, hexadecimal' });
const Answer = Type.Object({
  fingerprint: Fingerprint,
  public_key: Type.String({ description: 'PEM' }),
  since: Type.Union([Time, Type.Null()], { description: 'null: since the server was first started' }),
  next: Type.Union([
    Type.Object({
      fingerprint: Fingerprint,
      public_key: Type.String({ description: 'PEM' }),
      announced_at: Time,
      takes_over_at: Time,
      agents: Type.Object({
        up: Type.Integer({ description: 'That are connected' }),
        told: Type.Integer({ description: 'Of those, who know of the next key' }),
      }),
    }),
    Type.Null(),
  ]),
  previous: Type.Array(Type.Object({ fingerprint: Fingerprint, replaced_at: Time, revoked: Type.Boolean() }), {
    description: 'The newest first',
  }),
});
const RotationBody = Type.Object(
  {
    overlap: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: SERVER_KEY_LIMITS.overlapMost,
        description: `Seconds until the next key takes over, at least \`command.config_lifetime\`; ${SERVER_KEY_LIMITS.overlap} unless given`,
      }),
    ),
    revoke: Type.Optional(
      Type.Boolean({ description: 'The present key is no secret any more: a new one takes its place now' }),
    ),
  },
  STRICT,
);

/** The key of the server, by which agents know it, and its replacement. */
export function serverKeyRoutes(app: App, { key, rotation, agents }: ServerKeyRouteDeps): void {
  const view = () => {
    const { present, next, links } = key;
    return {
      fingerprint: present.fingerprint,
      public_key: present.publicKey,
      since: links.at(-1)?.takes_over_at ?? null,
      next: next && {
        fingerprint: fingerprintOf(next.key),
        public_key: next.key,
        announced_at: next.announced_at,
        takes_over_at: next.takes_over_at,
        agents: agents(Date.parse(next.announced_at)),
      },
      previous: links
        .slice(-SERVER_KEY_LIMITS.shown)
        .reverse()
        .map(({ previous, takes_over_at, revoked }) => ({
          fingerprint: fingerprintOf(previous),
          replaced_at: takes_over_at,
          revoked,
        })),
    };
  };

  app.get(
    '/server-key',
    {
      config: { permission: 'server:admin' },
      schema: {
        tags,
        operationId: 'getServerKey',
        summary: 'The key of the server, and the one that is to replace it',
        response: { 200: Answer },
      },
    },
    async () => view(),
  );

  app.post(
    '/server-key/rotation',
    {
      config: { permission: 'server:admin', empowers: true },
      schema: {
        tags,
        operationId: 'rotateServerKey',
        summary: 'Announce the next key of the server, which takes over later; or, with `revoke`, replace it now',
        body: RotationBody,
        response: { 200: Answer },
      },
    },
    async ({ body: { overlap, revoke = false }, caller }) => {
      if (revoke) await rotation.revoke(actorOf(caller));
      else await rotation.announce(actorOf(caller), overlap);
      return view();
    },
  );

  app.delete(
    '/server-key/rotation',
    {
      config: { permission: 'server:admin', empowers: true },
      schema: {
        tags,
        operationId: 'cancelServerKeyRotation',
        summary: 'Take the announcement back: the present key stays',
        response: { 200: Answer },
      },
    },
    async ({ caller }) => {
      await rotation.cancel(actorOf(caller));
      return view();
    },
  );
}
