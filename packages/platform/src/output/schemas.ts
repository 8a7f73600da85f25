import type { Readable } from 'node:stream';
import { type Static, Type } from 'typebox';

/** Shapes of requests for captured output and of their answers, for routes of any layer. */

export const OCTETS = 'application/octet-stream';

export const OutputQuery = Type.Object(
  {
    follow: Type.Optional(Type.String({ description: 'true: go on until the node has finished' })),
    from: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'First byte, as counted by the command',
      }),
    ),
  },
  { additionalProperties: false },
);
export type OutputRequest = Static<typeof OutputQuery>;

/** Bytes are streamed, never held whole. */
export const OutputAnswer = {
  content: { [OCTETS]: { schema: Type.Unsafe<Readable>({ type: 'string', format: 'binary' }) } },
};

/** For the description of a route. */
export const OUTPUT_DESCRIPTION =
  '`X-Muster-Complete` is `true` when the node has finished and nothing but what is over the limit is missing; ' +
  '`X-Muster-Dropped-Bytes` tells how many bytes over the limit were dropped from the middle, ' +
  '`X-Muster-Dropped-At` after how many bytes, where some were, ' +
  '`X-Muster-Missing` why the output of a node that has finished is not complete. ' +
  'A header `Range` gives a part of what was kept (206), without `from` and `follow`. ' +
  'Asked for over a WebSocket, the answer comes over it as HTTP would send it, head first; closed with 1000 it has not broken off.';
