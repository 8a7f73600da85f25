import {
  answer,
  constant,
  document,
  either,
  flag,
  gone,
  integer,
  lines,
  listOf,
  mapOf,
  object,
  orNull,
  other,
  own,
  type Printed,
  text,
} from './shapes.js';

const EVENT = object({
  position: own({ description: 'In the log of events, as text or a number' }),
  time: own({ description: 'When it was published' }),
  type: text(),
  org: text(),
  source: text('Who published it'),
  source_kind: text('user, node, service or server'),
  attributes: mapOf({ type: 'string' }),
  'content_type?': text(),
  'body?': text('Where it is UTF-8'),
  'body_base64?': text('Where it is not'),
});

/** Nodes, node groups, events. */
export const NODES: Readonly<Record<string, Printed>> = {
  'node create': document(answer('createNode')),
  'node list': document(
    either(answer('listNodeStates'), answer('listNodes', 'nodes')),
    'With a query, --columns or --sort everything known of each.',
  ),
  'node show': document(answer('getNode')),
  'node search': document(answer('listNodes')),
  'node why': document(answer('whyNode')),
  'node history': document(answer('getNodeHistory')),
  'node rm': gone('node_name'),
  'node keys': document(answer('listNodeKeys')),
  'node add-key': document(answer('addNodeKey')),
  'node rm-key': gone('name', 'fingerprint'),
  'ssh-node add': document(answer('createSshNode')),
  'ssh-node list': document(answer('listSshNodes')),
  'ssh-node show': document(answer('getSshNode')),
  'ssh-node set': document(answer('changeSshNode')),
  'ssh-node test': document(answer('testSshNode')),
  'ssh-node rm': gone('node_name'),
  'command list': document(answer('listPushCommands')),
  inventory: document(
    own({ type: 'object', additionalProperties: true }),
    'As Ansible wants it, with --json or without: groups with their hosts, and _meta; with --host the variables of one.',
  ),
  'node-group create': document(answer('putNodeGroup')),
  'node-group set': document(answer('putNodeGroup')),
  'node-group list': document(answer('listNodeGroups')),
  'node-group show': document(answer('getNodeGroup')),
  'node-group grant': document(answer('putNodeGroup')),
  'node-group rm': gone('name'),

  'event watch': lines(EVENT, 'Every event.'),
  'event publish': document(
    either(
      object({ type: text(), published: flag('false: later'), scheduled: orNull(text('Id, with --at')) }),
      object({ error: integer('0: it succeeded'), completion: EVENT }),
    ),
    'With --wait its completion.',
  ),
  'event complete': document(object({ token: text(), error: integer('0: it succeeded') })),
  'event scheduled list': document(answer('listScheduledEvents')),
  'event scheduled cancel': document(object({ id: text(), cancelled: constant(true) })),
  'event durable list': document(answer('listDurableSubscriptions')),
  'event durable rm': gone('principal', 'name'),
  'event access list': document(answer('listEventAccess')),
  'event access grant': document(answer('putEventAccess')),
  'event access revoke': document(
    either(answer('putEventAccess'), object({ action: text(), pattern: text(), restricted: constant(false) })),
    'Without names the types are restricted no longer.',
  ),

  audit: document(answer('listAudit')),
  'audit export': other('JSON lines, with --json or without: what `muster audit verify FILE` reads.'),
  'audit verify': document(
    object({
      entries: integer(),
      forged: integer('Of those, written by none of the servers, or changed before the seal'),
      seals: integer(),
      head: text('Hash of the last seal'),
      key: text('Fingerprint'),
    }),
  ),
  doctor: document(
    object({
      ok: flag(),
      checks: listOf(object({ name: text(), result: own({ enum: ['ok', 'warning', 'failed'] }), text: text() })),
    }),
  ),
};
