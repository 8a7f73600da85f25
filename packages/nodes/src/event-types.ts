import { OwnEvents } from '@muster/platform/log';
import { Type } from 'typebox';

const text = (description: string) => Type.String({ description });
const optional = (description: string) => Type.Optional(text(description));
const values = (description: string) =>
  Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()]), { description });

const fact = (description: string) =>
  Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()], { description });
export const FACT_CHANGE = {
  name: text('Name of the fact or label'),
  of: text('`fact` or `label`'),
  from: fact('What it was; null: there was none'),
  to: fact('What it is; null: there is none any more'),
};

const aboutNode = { node: text('Name of the node') };
const via = { via: optional('`ssh`: it has no agent, and the server itself runs commands there') };
const none = Type.Object({});

/** What is told of nodes. */
export const NODE_EVENTS = new OwnEvents({
  prefix: 'node.',
  followers: 'node:read',
  schemas: {
    'node.created': {
      summary: 'A node became known: it was created, enrolled itself, or asked for its configuration.',
      attributes: Type.Object(aboutNode),
      data: none,
    },
    'node.removed': {
      summary: 'A node was deleted.',
      attributes: Type.Object(aboutNode),
      data: none,
    },
    'node.up': {
      summary: 'A node is heard again.',
      attributes: Type.Object({ ...aboutNode, ...via, owner: optional('Who owns it now: mostly `rehab`') }),
      data: Type.Object({ reason: text('Why it is where it is') }),
      counted: 'together',
    },
    'node.down': {
      summary: 'A node was not heard for too long, or said that it stops.',
      attributes: Type.Object({ ...aboutNode, ...via, job: optional('The job that has lost it') }),
      data: Type.Object({ reason: text('Why it is down') }),
      counted: 'together',
    },
    'node.facts': {
      summary: 'A node reported other facts or labels than before.',
      attributes: Type.Object(aboutNode),
      data: Type.Object({ facts: values('All its facts'), labels: values('All its labels') }),
    },
    'node.facts_changed': {
      summary:
        'What differs of its facts and labels; not of those that move by themselves, and not of the first report.',
      attributes: Type.Object(aboutNode),
      data: Type.Object({
        changes: Type.Array(Type.Object(FACT_CHANGE), { description: 'At most 50; text is cut to 200 characters' }),
        omitted: Type.Integer({ description: 'How many more there are' }),
      }),
    },
    'node.restarted': {
      summary: 'The agent of a node was started anew, or is heard for the first time.',
      attributes: Type.Object({
        ...aboutNode,
        end: optional('How the one before ended: `clean`, `crash` or `reinstalled`'),
      }),
      data: Type.Object({
        incarnation: Type.Union([Type.String(), Type.Null()], { description: 'Incarnation of the agent' }),
      }),
    },
    'node.protocol': {
      summary: 'A node speaks another protocol than before.',
      attributes: Type.Object({ ...aboutNode, dialect: text('`native`, `chef2` or `spec1`') }),
      data: none,
    },
    'node.key': {
      summary: 'A node asked for its configuration with another key than before.',
      attributes: Type.Object(aboutNode),
      data: Type.Object({ fingerprint: text('SHA-256 of the key') }),
    },
  },
});
