import { parseJson } from '@muster/platform/http';
import { MusterError } from '../errors.js';
import { refused } from './refusal.js';

/** The part of a form that holds a submission, as clients of Agave send it. */
const PART = 'fileToUpload';

export interface SentBody {
  readonly contentType: string | undefined;
  readonly bytes: Buffer;
}

/**
 * What a submission is: JSON, also as a file of a form (sheet §1.2).
 * @throws MusterError `job_invalid`, `unsupported_media_type`
 */
export async function readSubmissionBody({ contentType, bytes }: SentBody): Promise<unknown> {
  switch (mediaType(contentType)) {
    case 'multipart/form-data':
      return jsonOf(await partOf(contentType ?? '', bytes), PART);
    case 'application/json':
    case 'text/json':
    case '':
      return jsonOf(bytes, 'body');
    default:
      throw new MusterError('unsupported_media_type');
  }
}

/** Fields of an action: a form or JSON. None when the body is empty. @throws as `readSubmissionBody` */
export async function readFields({ contentType, bytes }: SentBody): Promise<Readonly<Record<string, unknown>>> {
  if (bytes.length === 0) return {};
  const type = mediaType(contentType);
  if (type === 'application/x-www-form-urlencoded') return Object.fromEntries(new URLSearchParams(bytes.toString()));
  if (type === 'multipart/form-data') {
    const texts = [...(await formOf(contentType ?? '', bytes))].filter(([, value]) => typeof value === 'string');
    return Object.fromEntries(texts);
  }
  if (type !== '' && type !== 'application/json' && type !== 'text/json') {
    throw new MusterError('unsupported_media_type');
  }
  const value = jsonOf(bytes, 'body');
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw refused('ALOE_JSON_VALIDATION_ERROR', 'body', 'must be a JSON object');
}

function mediaType(contentType: string | undefined): string {
  return (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

function jsonOf(bytes: Uint8Array, field: string): unknown {
  try {
    return parseJson(bytes);
  } catch (error) {
    if (!(error instanceof MusterError)) throw error;
    if (!isJson(bytes)) throw refused('NET_INVALID_JSON_INPUT', field, error.message);
    throw refused('ALOE_JSON_PARSE_ERROR', field, `it is JSON that cannot be used: ${String(error.details.reason)}`);
  }
}

function isJson(bytes: Uint8Array): boolean {
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    return true;
  } catch {
    return false;
  }
}

async function partOf(contentType: string, bytes: Buffer): Promise<Uint8Array> {
  const part = (await formOf(contentType, bytes)).get(PART);
  if (part === null) throw refused('ALOE_NULL_PARAMETER', PART, 'the form has no such part');
  return typeof part === 'string' ? Buffer.from(part) : new Uint8Array(await part.arrayBuffer());
}

async function formOf(contentType: string, bytes: Buffer) {
  try {
    return await new Response(bytes, { headers: { 'content-type': contentType } }).formData();
  } catch (cause) {
    const error = refused('NET_POST_PAYLOAD_ACCESS', 'body', 'it is not a readable form');
    throw Object.assign(error, { cause });
  }
}
