import type { App } from '@muster/platform/http';
import { parseJson } from '@muster/platform/http';
import type { Json } from '@muster/wire';
import { Type } from 'typebox';
import { MusterError } from '../../errors.js';
import { invalid } from '../../request/fields.js';
import { LineTooLong, linesOf } from '../../request/lines.js';
import { clearCollection } from '../clear.js';
import { isCollectionName } from '../collections.js';
import { COLLECTIONS, type Collection, type DumpLine, importDocuments } from '../import/importer.js';
import { byWhom, type DisbatchDeps } from '../interface.js';
import { DISBATCH_LIMITS } from '../limits.js';
import { collectionsOf, lastPosition } from '../reads.js';
import { isObject } from '../values.js';
import { addDocument } from '../writes.js';

const OrgParams = Type.Object({ org: Type.String() });
const CollectionParams = Type.Object({ org: Type.String(), name: Type.String() });
const tags = ['disbatch'];

export interface ImportRouteDeps extends DisbatchDeps {
  readonly maxParams: number;
}

/** Documents that an organization keeps to make tasks of (T9), and those of a dump. */
export function importRoutes(app: App, deps: ImportRouteDeps): void {
  const { store, controller, clock, maxParams } = deps;
  const { read } = store;

  app.route({
    method: 'GET',
    url: '/organizations/:org/collections',
    config: { permission: 'task:read' },
    schema: {
      tags,
      operationId: 'listCollections',
      summary: 'Collections of documents that tasks are made of',
      params: OrgParams,
      response: {
        200: Type.Array(Type.Object({ name: Type.String(), documents: Type.Integer() }), { description: 'By name' }),
      },
    },
    handler: async ({ organization }) => collectionsOf(read, organization.id),
  });

  app.route({
    method: 'POST',
    url: '/organizations/:org/collections/:name',
    config: { permission: 'task:write', empowers: false, anyBody: true },
    schema: {
      tags,
      operationId: 'addDocuments',
      summary: 'Append documents to a collection, a JSON object a line',
      description:
        'With `after`, the number of documents before these, the same request a second time changes nothing.',
      params: CollectionParams,
      querystring: Type.Object({ after: Type.Integer({ minimum: 0 }) }),
      response: { 200: Type.Object({ documents: Type.Integer() }, { description: 'How many there are now' }) },
    },
    handler: async (request) => {
      const { organization, params, query, caller: by } = request;
      const name = collectionNamed(params.name);
      const documents = await linesIn(request);
      for (const [index, { value }] of documents.entries()) {
        if (!isObject(value)) throw invalid(`line ${index + 1}`, 'must be a JSON object');
      }
      const last = await lastPosition(read, organization.id, name);
      if (last === query.after + documents.length && documents.length > 0) return { documents: last };
      if (last !== query.after) throw invalid('after', `the collection has ${last} documents`);
      if (last + documents.length > DISBATCH_LIMITS.collection) {
        throw invalid('lines', `a collection has at most ${DISBATCH_LIMITS.collection} documents`);
      }
      const audited = { action: 'collection.add', target: name, detail: { documents: documents.length } };
      const { record = [] } = byWhom(deps, { organization, by }, audited);
      const rows = documents.map(({ text }, index) =>
        addDocument({ org_id: organization.id, collection: name, position: last + index + 1, document: text }),
      );
      await store.commit([...rows, ...record]);
      return { documents: last + documents.length };
    },
  });

  app.route({
    method: 'DELETE',
    url: '/organizations/:org/collections/:name',
    config: { permission: 'task:write', empowers: false },
    schema: {
      tags,
      operationId: 'deleteCollection',
      summary: 'Delete a collection with its documents',
      params: CollectionParams,
      response: { 204: Type.Null({ description: 'It is gone' }) },
    },
    handler: async ({ organization, params, caller: by }, reply) => {
      const name = collectionNamed(params.name);
      if ((await lastPosition(read, organization.id, name)) === 0) {
        throw new MusterError('not_found', { kind: 'collection', name });
      }
      const { record = [] } = byWhom(deps, { organization, by }, { action: 'collection.delete', target: name });
      await store.commit(record);
      // In portions, so that others have their turns.
      for (let cleared = false; !cleared; ) {
        cleared = await store.transact((trx) => clearCollection(trx, organization.id, name, DISBATCH_LIMITS.documents));
      }
      return reply.code(204).send(null);
    },
  });

  app.route({
    method: 'POST',
    url: '/organizations/:org/disbatch-import',
    config: { permission: 'task:write', empowers: false, anyBody: true },
    schema: {
      tags,
      operationId: 'importDump',
      summary: 'Documents of a dump of Disbatch, with their ids: `{"collection", "line", "document"}` a line',
      description:
        `Up to ${DISBATCH_LIMITS.importedAtOnce} lines, in Extended JSON; what is there already is left as it is. Queues come paused, and tasks ` +
        'that a node had come as orphaned. Output that is not in the task comes in pieces: base64 in `data`.',
      params: OrgParams,
      response: {
        200: Type.Object(
          {
            imported: Type.Record(Type.String(), Type.Integer()),
            present: Type.Record(Type.String(), Type.Integer()),
            errors: Type.Array(Type.Object({ collection: Type.String(), line: Type.Integer(), error: Type.String() })),
          },
          { description: 'How many of each collection, and which lines were refused' },
        ),
      },
    },
    handler: async (request) => {
      const { organization, caller: by } = request;
      const lines = (await linesIn(request)).map(({ value }, index) => dumpLine(value, index + 1));
      if (lines.length > DISBATCH_LIMITS.importedAtOnce) {
        throw invalid('lines', `must be at most ${DISBATCH_LIMITS.importedAtOnce}`);
      }
      const audited = { action: 'dump.import', target: organization.name, detail: { documents: lines.length } };
      const about = { orgId: organization.id, requester: by.name, now: clock.now(), maxParams };
      const who = byWhom(deps, { organization, by }, audited);
      const { imported, present, errors } = await importDocuments(
        { store, controller },
        organization,
        lines,
        about,
        who,
      );
      return { imported: { ...imported }, present: { ...present }, errors: [...errors] };
    },
  });
}

function collectionNamed(name: string): string {
  if (isCollectionName(name)) return name;
  throw invalid('name', 'has letters, digits, _, . and -, at most 120');
}

/** The lines of a body, none of which is empty, with what they say. @throws MusterError `invalid_json`, `invalid_field` */
async function linesIn(request: { pieces(): AsyncIterable<Buffer> }): Promise<{ text: string; value: Json }[]> {
  const lines: { text: string; value: Json }[] = [];
  try {
    for await (const line of linesOf(request.pieces(), DISBATCH_LIMITS.document)) {
      const text = line.toString().trim();
      if (text !== '') lines.push({ text, value: parseJson(line) as Json });
    }
  } catch (error) {
    if (error instanceof LineTooLong) throw invalid('line', `must have at most ${DISBATCH_LIMITS.document} bytes`);
    throw error;
  }
  return lines;
}

const KNOWN: readonly unknown[] = COLLECTIONS;

function dumpLine(value: Json, number: number): DumpLine {
  const { collection, line, document } = isObject(value) ? value : {};
  if (!KNOWN.includes(collection))
    throw invalid(`line ${number}.collection`, `must be one of ${COLLECTIONS.join(', ')}`);
  if (typeof line !== 'number' || !Number.isSafeInteger(line)) throw invalid(`line ${number}.line`, 'must be a number');
  return { collection: collection as Collection, line, document: document ?? null };
}
