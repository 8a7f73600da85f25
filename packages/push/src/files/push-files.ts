import { createHash, randomUUID } from 'node:crypto';
import type { Clock } from '@muster/base';
import type { ServerConfig } from '@muster/platform/config';
import { Upkeep } from '@muster/platform/upkeep';
import type { Store, Write } from '@muster/store';
import type { KeptFile } from '@muster/wire';
import { MusterError } from '../errors.js';
import { FILES, RETENTION } from '../limits.js';
import { invalid } from '../request/fields.js';
import {
  addPiece,
  clearPieces,
  deleteFiles,
  type FileRow,
  filesKept,
  filesUsedBefore,
  findFile,
  pieceAt,
  touchOld,
  useFile,
} from './repository.js';
import { RunningHashes } from './running-hashes.js';

export interface PushFilesDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly config: Pick<ServerConfig, 'files' | 'http'>;
  /** A round of upkeep failed; the next one tries again. */
  readonly failed: (error: unknown) => void;
}

/** How far a file has come. Who brings it goes on at `stored`, with at most `piece` bytes in one request. */
export interface FileStanding extends KeptFile {
  readonly stored: number;
  readonly complete: boolean;
  readonly piece: number;
}

/** One that something names which will start jobs later. */
export interface HeldFile {
  readonly orgId: string;
  readonly sha256: string;
}

/**
 * Files that push jobs take to their nodes: brought in pieces, kept by their content, shown to nodes once their hash was found
 * right, and deleted when no job has named them for some time and nothing holds them.
 */
export class PushFiles {
  readonly #deps: PushFilesDeps;
  readonly #upkeep: Upkeep;
  readonly #hashes = new RunningHashes(FILES.hashes);
  readonly #holders: (() => Promise<readonly HeldFile[]>)[] = [];

  constructor(deps: PushFilesDeps) {
    this.#deps = deps;
    const { clock, failed } = deps;
    this.#upkeep = new Upkeep({ clock, pauseMs: FILES.pauseMs, round: () => this.prune(), failed });
  }

  start(): void {
    this.#upkeep.start();
  }

  stop(): Promise<void> {
    return this.#upkeep.stop();
  }

  /** What it names is not deleted. */
  heldBy(holder: () => Promise<readonly HeldFile[]>): void {
    this.#holders.push(holder);
  }

  /**
   * Makes room for a file; of one that is there already, how far it is.
   * @throws MusterError `invalid_field` for a size that is not taken; `push_files_full`
   */
  async begin(orgId: string, { sha256, size }: KeptFile): Promise<FileStanding> {
    const { store, clock, config } = this.#deps;
    const { largest, total } = config.files;
    if (size > largest) throw invalid('size', `must not be above ${largest} bytes (files.largest of the server)`);
    const row = await store.transact(async (trx) => {
      const known = await findFile(trx, orgId, sha256);
      if (known !== undefined) {
        if (known.size !== size) throw invalid('size', `is not that of the file with this hash, ${known.size}`);
        await trx.updateTable('push_files').set({ used_at: clock.now() }).where('id', '=', known.id).execute();
        return known;
      }
      const kept = await filesKept(trx, orgId);
      if (kept.own >= FILES.perOrganization) {
        throw new MusterError('push_files_full', { limit: `${FILES.perOrganization} files of one organization` });
      }
      if (kept.bytes + size > total)
        throw new MusterError('push_files_full', { limit: `${total} bytes (files.total)` });
      const fresh = { id: randomUUID(), org_id: orgId, sha256, size, stored: 0, complete: 0, used_at: clock.now() };
      await trx.insertInto('push_files').values(fresh).execute();
      return fresh;
    });
    return row.stored === row.size && row.complete === 0 ? this.#finish(row) : this.#standing(row);
  }

  /**
   * Bytes that begin at `offset`. Where the file does not end there nothing is stored, and the answer says where it does.
   * @throws MusterError `not_found`; `invalid_field` for more than was announced; `file_hash_wrong`, after which the file is gone
   */
  async append(orgId: string, sha256: string, offset: number, data: Uint8Array): Promise<FileStanding> {
    const { store, clock } = this.#deps;
    const row = await findFile(store.read, orgId, sha256);
    if (row === undefined) throw new MusterError('not_found', { kind: 'file', name: sha256 });
    if (row.complete === 1 || offset !== row.stored) return this.#standing(row);
    if (data.length === 0) throw invalid('body', 'holds no bytes');
    if (offset + data.length > row.size) throw invalid('body', `goes beyond the ${row.size} bytes of the file`);
    const added = await store.transact((trx) => addPiece(trx, row, data, clock.now()));
    if (added) this.#hashes.add(row.id, offset, data);
    const now = added ? { ...row, stored: row.stored + data.length } : await findFile(store.read, orgId, sha256);
    if (now === undefined) throw new MusterError('not_found', { kind: 'file', name: sha256 });
    return added && now.stored === now.size ? this.#finish(now) : this.#standing(now);
  }

  /**
   * What a job may name.
   * @throws MusterError `push_file_missing` when one of them is not there whole
   */
  async named(orgId: string, files: readonly KeptFile[]): Promise<Write[]> {
    const { store, clock } = this.#deps;
    for (const { sha256, size } of files) {
      const row = await findFile(store.read, orgId, sha256);
      if (row?.complete !== 1 || row.size !== size) throw new MusterError('push_file_missing', { sha256 });
    }
    const now = clock.now();
    return files.map(({ sha256 }) => useFile({ org_id: orgId, sha256, used_at: now }));
  }

  /** Whole files only. */
  async find(orgId: string, sha256: string): Promise<FileRow | undefined> {
    const row = await findFile(this.#deps.store.read, orgId, sha256);
    return row?.complete === 1 ? row : undefined;
  }

  /** Bytes from `first` to `last`, which is included. Breaks off when the file is deleted meanwhile. */
  async *read({ id }: Pick<FileRow, 'id'>, first: number, last: number): AsyncGenerator<Uint8Array> {
    for (let from = first; from <= last; ) {
      const piece = await pieceAt(this.#deps.store.read, id, from);
      const bytes = piece?.data.subarray(from - piece.position, last + 1 - piece.position);
      if (bytes === undefined || bytes.length === 0) throw new Error(`file ${id} ends at ${from}`);
      yield bytes;
      from += bytes.length;
    }
  }

  /** One round. @throws MusterError `store_unavailable` */
  async prune(): Promise<void> {
    const { store, clock, config } = this.#deps;
    const before = clock.now() - config.files.keep * 1000;
    if ((await filesUsedBefore(store.read, before, 1)).length > 0) {
      await this.#touchHeld(before);
      // What was named meanwhile is not old any more.
      await store.transact(async (trx) => deleteFiles(trx, await filesUsedBefore(trx, before, RETENTION.jobs)));
    }
    while (!this.#upkeep.stopped && (await store.transact(clearPieces))) {}
  }

  async #touchHeld(before: number): Promise<void> {
    const { store, clock } = this.#deps;
    const held = (await Promise.all(this.#holders.map((holder) => holder()))).flat();
    const now = clock.now();
    await store.transact(async (trx) => {
      for (const { orgId, sha256 } of held) await touchOld(trx, { orgId, sha256, before, now });
    });
  }

  async #finish(row: FileRow): Promise<FileStanding> {
    const { store } = this.#deps;
    if ((this.#hashes.take(row.id, row.size) ?? (await this.#hashOf(row))) !== row.sha256) {
      await store.transact((trx) => deleteFiles(trx, [row.id]));
      throw new MusterError('file_hash_wrong', { sha256: row.sha256 });
    }
    await store.transact((trx) =>
      trx.updateTable('push_files').set({ complete: 1 }).where('id', '=', row.id).executeTakeFirst(),
    );
    return this.#standing({ ...row, complete: 1 });
  }

  async #hashOf(row: FileRow): Promise<string> {
    const hash = createHash('sha256');
    for await (const bytes of this.read(row, 0, row.size - 1)) hash.update(bytes);
    return hash.digest('hex');
  }

  #standing({ sha256, size, stored, complete }: FileRow): FileStanding {
    const piece = Math.min(FILES.pieceBytes, this.#deps.config.http.body_limit);
    return { sha256, size, stored, complete: complete === 1, piece };
  }
}
