import { OwnEvents } from '@muster/platform/log';
import { Type } from 'typebox';

const text = (description: string) => Type.String({ description });
const OWNERS = '`rehab`, `idle` or `job`';

/** What is told of whose a node is, to those who may follow what is told of nodes. */
export const OWNER_EVENTS = new OwnEvents({
  prefix: 'node.',
  followers: 'node:read',
  schemas: {
    'node.owner': {
      summary: 'A node that is up changed hands.',
      attributes: Type.Object({
        node: text('Name of the node'),
        owner: text(`Who owns it now: ${OWNERS}`),
        from: text(`Who owned it: ${OWNERS}`),
        job: Type.Optional(text('The job that owns it, or did')),
      }),
      data: Type.Object({ reason: text('Why') }),
    },
  },
});
