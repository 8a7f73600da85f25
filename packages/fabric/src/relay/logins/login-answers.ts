import { MusterError } from '../../errors.js';
import { type EventAccess, isPrincipalKind, type OwnedTypes, type TypeRules } from '../../event/access.js';
import type { Login, Revoked } from '../../protocol/login.js';
import { upstreamError } from '../upstream/errors.js';

/** What upstream answers about a login: what was granted, or why not. */
export function readLogin(text: string): Login | MusterError {
  const { access, expiresMs = null, grounds, stamp, error } = parsed(text);
  if (isObject(error)) return upstreamError(error.code, error.message, error.details);
  const expires = expiresMs === null || typeof expiresMs === 'number';
  if (isAccess(access) && expires && typeof grounds === 'string') {
    return { access, expiresMs, grounds, ...(typeof stamp === 'number' && { stamp }) };
  }
  return new MusterError('upstream_failed', { reason: 'its answer about a login cannot be read' });
}

/** Reads a revocation, which upstream sends unasked. Null: it cannot be read. */
export function readRevoked(text: string): Revoked | null {
  const { revoked } = parsed(text);
  if (!isObject(revoked)) return null;
  const { org, principal, before } = revoked;
  if (typeof org !== 'string' || (principal !== null && typeof principal !== 'string')) return null;
  return { org, principal, ...(typeof before === 'number' && { before }) };
}

/** What a login may follow, as CONNECTED tells it. Null: it does not say. */
export function readRules(text: string): TypeRules | null {
  const rules: unknown = parsed(text);
  return isRules(rules) ? rules : null;
}

function parsed(text: string): Record<string, unknown> {
  try {
    const found: unknown = JSON.parse(text);
    return isObject(found) ? found : {};
  } catch {
    // Read as an object without any field.
    return {};
  }
}

function isAccess(value: unknown): value is EventAccess {
  return (
    isObject(value) &&
    typeof value.org === 'string' &&
    typeof value.principal === 'string' &&
    isPrincipalKind(value.kind) &&
    typeof value.relay === 'boolean' &&
    isRules(value.publish) &&
    isRules(value.subscribe)
  );
}

function isRules(value: unknown): value is TypeRules {
  if (!isObject(value) || ![value.granted, value.restricted, value.open].every(isTexts)) return false;
  return value.owned === undefined || (Array.isArray(value.owned) && value.owned.every(isOwned));
}

function isOwned(value: unknown): value is OwnedTypes {
  if (!isObject(value) || !isTexts(value.restricted)) return false;
  return isTexts([value.pattern, value.attribute, value.value]);
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
