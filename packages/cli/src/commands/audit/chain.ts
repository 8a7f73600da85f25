import { resolve } from 'node:path';
import type { Seal, ServerKeyLink } from '@muster/signing';
import { pathOf } from '../../client.js';
import { MusterError } from '../../errors.js';
import { linesOfFile } from '../../lines.js';
import type { Call } from '../../shell.js';

/** The audit of an organization, or of what concerns the whole server, as it was sealed. */
export interface Chain {
  /** Empty: of the whole server. */
  readonly organizationId: string;
  /** PEM. */
  readonly publicKey: string;
  /** How that key came to be the server's: earlier seals are by earlier keys. */
  readonly serverKeys: readonly ServerKeyLink[];
  /** Number of the last seal that whoever sealed knows of; 0: of none. */
  readonly known: number;
  /** From the first seal on. */
  readonly sealed: AsyncIterable<Sealed>;
}

export interface Sealed {
  readonly seal: Seal;
  /** JSON texts. */
  readonly entries: readonly string[];
}

interface Page {
  readonly organization_id: string;
  readonly public_key: string;
  readonly server_keys: readonly ServerKeyLink[];
  /** An older server does not say it. */
  readonly known_seal?: number;
  readonly seals: readonly Sealed[];
}

const LINE_BYTES = 1024 * 1024;
/** Entries of one seal; the server seals far fewer. */
const MOST_ENTRIES = 100_000;

export interface OfServer {
  /** What concerns the whole server, and no one organization. */
  readonly ofServer?: boolean;
}

export async function chainOfServer({ client, options }: Pick<Call<OfServer>, 'client' | 'options'>): Promise<Chain> {
  const path = options.ofServer === true ? pathOf('audit', 'seals') : client.inOrg('audit', 'seals');
  const pageAfter = (after: number) => client.get<Page>(path, { after });
  const first = await pageAfter(0);
  async function* sealed(): AsyncGenerator<Sealed> {
    for (let page = first; page.seals.length > 0; ) {
      yield* page.seals;
      page = await pageAfter(page.seals.at(-1)?.seal.number ?? 0);
    }
  }
  const {
    organization_id: organizationId,
    public_key: publicKey,
    server_keys: serverKeys,
    known_seal: known = 0,
  } = first;
  return { organizationId, publicKey, serverKeys, known, sealed: sealed() };
}

/** First line of an export. */
export interface Heading {
  readonly muster_audit: 1;
  readonly organization_id: string;
  readonly public_key: string;
  readonly server_keys: readonly ServerKeyLink[];
}

export function headingOf({ organizationId, publicKey, serverKeys }: Chain): Heading {
  return { muster_audit: 1, organization_id: organizationId, public_key: publicKey, server_keys: serverKeys };
}

/** What `muster audit export` wrote: a heading, then the entries of each seal and the seal, a line each. */
export async function chainOfFile({ world }: Pick<Call<object>, 'world'>, file: string): Promise<Chain> {
  const lines = linesOfFile(resolve(world.cwd, file), LINE_BYTES)[Symbol.asyncIterator]();
  const unreadable = (line: number, reason: string) =>
    new MusterError('usage', { reason: `${file}, line ${line}: ${reason}` });
  const cut = (reason: string) => new MusterError('audit_cut', { file, reason });
  const parsed = (line: number, text: string): Record<string, unknown> => {
    try {
      const value: unknown = JSON.parse(text);
      if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
    } catch {
      // Told below.
    }
    throw unreadable(line, 'it is no JSON object');
  };
  const heading = await lines.next();
  const {
    muster_audit: version,
    organization_id: organizationId,
    public_key: publicKey,
    server_keys: serverKeys = [],
  } = heading.done === true ? {} : parsed(1, heading.value.text);
  if (version !== 1 || typeof organizationId !== 'string' || typeof publicKey !== 'string') {
    throw unreadable(1, 'it is not the heading with which an export of the audit begins');
  }
  if (!Array.isArray(serverKeys)) throw unreadable(1, 'its server_keys are no list');
  async function* sealed(): AsyncGenerator<Sealed> {
    let entries: string[] = [];
    let last = 0;
    for (let next = await lines.next(), after = next; next.done !== true; next = after) {
      after = await lines.next();
      const { line, text } = next.value;
      if (after.done === true && !isJson(text)) throw cut(`its last line breaks off, after seal ${last}`);
      const { seal } = parsed(line, text);
      if (seal === undefined) {
        if (entries.push(text) > MOST_ENTRIES)
          throw unreadable(line, `more than ${MOST_ENTRIES} entries without a seal`);
        continue;
      }
      const read = readSeal(seal, () => unreadable(line, 'it is not a seal'));
      if (last === 0 && read.number > 1)
        throw cut(`it begins with seal ${read.number}, which follows from those before`);
      yield { seal: read, entries };
      last = read.number;
      entries = [];
    }
    if (entries.length > 0)
      throw cut(
        `it ends with ${entries.length === 1 ? 'an entry' : `${entries.length} entries`} after seal ${last}, without a seal`,
      );
  }
  // What is no link leads to no key.
  const links = serverKeys.filter((one): one is ServerKeyLink => typeof one === 'object' && one !== null);
  return { organizationId, publicKey, serverKeys: links, known: 0, sealed: sealed() };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function readSeal(value: unknown, refusal: () => Error): Seal {
  if (typeof value !== 'object' || value === null) throw refusal();
  const { number, entries, at, hash, signature } = value as Record<keyof Seal, unknown>;
  if (typeof number !== 'number' || typeof entries !== 'number') throw refusal();
  if (typeof at !== 'string' || typeof hash !== 'string' || typeof signature !== 'string') throw refusal();
  return { number, entries, at, hash, signature };
}
