import { type RsaKey, signRequest } from '@muster/wire';

export interface Credentials {
  readonly name: string;
  /** Who calls often, parses once. */
  readonly privateKey: RsaKey;
}

/** Longest wait for one answer. */
const ANSWER_TIMEOUT_MS = 30_000;

/** A signed REST call; resolves with whatever the server answers. */
export async function signedCall(
  server: string,
  as: Credentials,
  method: 'GET' | 'POST',
  path: string,
  content?: unknown,
): Promise<{ readonly status: number; readonly text: string }> {
  const body = content === undefined ? '' : JSON.stringify(content);
  const headers = signRequest({
    method,
    path,
    body,
    userId: as.name,
    timestamp: Date.now(),
    privateKey: as.privateKey,
    version: '1.3',
  });
  const response = await fetch(new URL(path, server), {
    method,
    headers: { accept: 'application/json', 'content-type': 'application/json', ...headers },
    signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
    ...(method === 'POST' ? { body } : {}),
  });
  return { status: response.status, text: await response.text() };
}
