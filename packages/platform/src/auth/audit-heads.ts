import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * How far each chain of the audit has come, by the id of its organization, as whoever seals remembers it: a database alone can be made to
 * forget the end of a chain, and what is left of its entries would be sealed anew.
 */
export interface AuditHeads {
  /** Number of the last seal; 0: none that is known. */
  of(orgId: string): number;
  made(seals: ReadonlyMap<string, number>): void;
}

/** For as long as the process lives. */
export function rememberedHeads(
  known: Iterable<readonly [string, number]> = [],
): AuditHeads & Iterable<[string, number]> {
  const numbers = new Map(known);
  return {
    of: (orgId) => numbers.get(orgId) ?? 0,
    made(seals) {
      for (const [orgId, number] of seals) numbers.set(orgId, number);
    },
    [Symbol.iterator]: () => numbers.entries(),
  };
}

/**
 * In a file beside the server's key. It is written when seals are stored: after a crash it may be behind, and is never ahead.
 * @param failed It cannot be read, or not be written: what is known is remembered as long as the process lives.
 */
export function auditHeadsIn(dataDir: string, failed: (error: unknown) => void): AuditHeads {
  const path = join(dataDir, 'audit-heads.json');
  const attempt = <T>(work: () => T): T | undefined => {
    try {
      return work();
    } catch (error) {
      failed(error);
      return undefined;
    }
  };
  const heads = rememberedHeads(attempt(() => readHeads(path)));
  return {
    of: heads.of,
    made(seals) {
      heads.made(seals);
      attempt(() => {
        writeFileSync(`${path}.new`, `${JSON.stringify(Object.fromEntries(heads))}\n`, { mode: 0o600 });
        renameSync(`${path}.new`, path);
      });
    },
  };
}

function readHeads(path: string): [string, number][] {
  if (!existsSync(path)) return [];
  const found: unknown = JSON.parse(readFileSync(path, 'utf8'));
  const heads = typeof found === 'object' && found !== null ? Object.entries(found) : [];
  const wrong = heads.find(([, number]) => !Number.isSafeInteger(number));
  if (wrong !== undefined) throw new Error(`${path}: ${wrong[0]} is not a number of a seal`);
  return heads;
}
