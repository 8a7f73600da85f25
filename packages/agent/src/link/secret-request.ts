import { newBoxKey, type SealedBox, signRequest } from '@muster/signing';
import type { TaskRef } from '@muster/wire';
import { FileUnavailable } from '../files/download.js';
import { type NodeIdentity, organizationUrl } from './configuration-request.js';
import { errorText, http } from './http.js';

/** What a server says that will say the same the next time. */
const FINAL: ReadonlySet<number> = new Set([400, 401, 403, 404]);

/** The secrets of a push job that this node was told to start, by name. @throws FileUnavailable when the server refuses them; anything else may pass. */
export function requestSecrets(
  identity: NodeIdentity,
  { jobId, now }: { readonly jobId: string; readonly now: number },
): Promise<ReadonlyMap<string, string>> {
  const about = `push secrets ${jobId} ${identity.name}`;
  return request(identity, { path: `pushy/jobs/${jobId}/secrets`, what: 'job', about, body: {}, now });
}

/** The secrets of a task that this node has, by what its plugin finds them as. @throws as `requestSecrets` */
export function requestTaskSecrets(
  identity: NodeIdentity,
  { id, attempt, now }: TaskRef & { readonly now: number },
): Promise<ReadonlyMap<string, string>> {
  const about = `task secrets ${id} ${attempt} ${identity.name}`;
  return request(identity, { path: `tasks/${id}/secrets`, what: 'task', about, body: { attempt }, now });
}

interface Asking {
  readonly path: string;
  readonly what: string;
  readonly about: string;
  readonly body: object;
  readonly now: number;
}

/** They come sealed for this one request, so that nobody between reads them, whatever the connection is. */
async function request(
  { server, org, name, key, ca }: NodeIdentity,
  { path, what, about, body: given, now }: Asking,
): Promise<ReadonlyMap<string, string>> {
  const url = organizationUrl(server, org, path);
  const box = newBoxKey();
  const body = JSON.stringify({ key: box.publicKey, ...given });
  const signed = signRequest({
    method: 'POST',
    path: url.pathname,
    body,
    userId: name,
    timestamp: now,
    privateKey: key,
    version: '1.3',
    signQuery: true,
  });
  const headers = { ...signed, accept: 'application/json', 'content-type': 'application/json' };
  const answer = await http({ url, method: 'POST', headers, body, ca });
  if (answer.status !== 200) {
    const why = errorText(answer);
    if (FINAL.has(answer.status))
      throw new FileUnavailable(`the server does not give the secrets of the ${what}: ${why}`);
    throw new Error(`status ${answer.status}: ${why}`);
  }
  const opened = box.open(JSON.parse(answer.body) as SealedBox, about);
  const values = Object.entries(JSON.parse(opened.toString()) as Record<string, string>);
  return new Map(values.map(([secret, value]) => [secret, Buffer.from(value, 'base64').toString()]));
}
