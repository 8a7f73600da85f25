import { type Dialect, type Oid, oid } from './dialect.js';

/**
 * What the driver of the original answers, under the name of its class: clients look for these fields (sheet §4A).
 */

export function updateResult(matched: number, modified: number) {
  return {
    'MongoDB::UpdateResult': {
      matched_count: matched,
      modified_count: modified,
      upserted_id: null,
      write_errors: [],
      write_concern_errors: [],
    },
  };
}

export function deleteResult(deleted: number) {
  return {
    'MongoDB::DeleteResult': { deleted_count: deleted, write_errors: [], write_concern_errors: [] },
  };
}

export function insertOneResult(dialect: Dialect, id: string) {
  return {
    'MongoDB::InsertOneResult': { inserted_id: oid(dialect, id), write_errors: [], write_concern_errors: [] },
  };
}

export interface Inserted {
  readonly index: number;
  readonly _id: Oid;
}

export function inserted(dialect: Dialect, ids: readonly string[]): readonly Inserted[] {
  return ids.map((id, index) => ({ index, _id: oid(dialect, id) }));
}

export function insertManyResult(dialect: Dialect, ids: readonly string[]) {
  return {
    'MongoDB::InsertManyResult': {
      acknowledged: 1,
      inserted: inserted(dialect, ids),
      write_errors: [],
      write_concern_errors: [],
    },
  };
}

/** There is a queue of this name already. */
export function duplicateKeyError(name: string) {
  const message = `E11000 duplicate key error: there is a queue ${JSON.stringify(name)} already`;
  return {
    'MongoDB::DuplicateKeyError': {
      code: 11000,
      message,
      result: {
        acknowledged: 1,
        inserted: [],
        write_errors: [{ code: 11000, index: 0, errmsg: message }],
        write_concern_errors: [],
      },
    },
    error: `MongoDB::DuplicateKeyError: ${message}`,
  };
}

/** In the place of the useless address of an object in memory that the original tells. */
export const NOTHING_MATCHED = {
  update: 'MongoDB::UpdateResult=no such queue',
  delete: 'MongoDB::DeleteResult=no such queue',
} as const;
