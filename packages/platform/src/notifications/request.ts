import { MusterError } from '../errors.js';
import { checkEventSelector } from '../events/check-selector.js';
import { checkHost } from '../outbound/addresses.js';
import { mailAddress } from '../outbound/mail.js';
import { DEFAULT_RETRIES, type RetryPolicy } from '../outbound/retries.js';
import type { Asked } from './types.js';

/** What may be said of a notification, as REST has it. */
export interface Fields {
  readonly follows?: 'audit' | 'events';
  readonly on?: string;
  readonly to?: string;
  readonly retries?: number;
  readonly enabled?: boolean;
  readonly after_seal?: number;
}

/** Retries unless said otherwise: the last comes about six hours after the first attempt. */
const RETRIES = 12;

/**
 * @param follows Of the notification that they are said of.
 * @param privateTargets Whether targets may be at private addresses.
 * @throws MusterError `invalid_field`
 */
export function readFields(fields: Fields, follows: Asked['follows'], privateTargets: boolean): Partial<Asked> {
  const { on, to, retries, enabled, after_seal: afterSeal } = fields;
  for (const field of follows === 'audit' ? OF_EVENTS : OF_AUDIT) {
    if (fields[field] !== undefined) throw invalid(field, `cannot be said where it follows ${PLAIN[follows]}`);
  }
  if (on !== undefined) checkEventSelector('on', on);
  if (to !== undefined) checkTarget(to, follows, privateTargets);
  return {
    ...(on !== undefined && { selector: on }),
    ...(to !== undefined && { target: to }),
    ...(retries !== undefined && { policy: policyOf(retries) }),
    ...(enabled !== undefined && { enabled }),
    ...(afterSeal !== undefined && { afterSeal }),
  };
}

/** The audit is sent whole, and until it arrives. */
const OF_EVENTS = ['on', 'retries'] as const;
const OF_AUDIT = ['after_seal'] as const;
const PLAIN = { audit: 'the audit', events: 'events' } as const;

/** A new one. @throws MusterError `invalid_field` */
export function readNew(fields: Fields & Required<Pick<Fields, 'to'>>, privateTargets: boolean): Asked {
  const { follows = 'events', on: selector = '', to: target, enabled = true } = fields;
  const asked = readFields(fields, follows, privateTargets);
  if (follows === 'events' && fields.on === undefined) throw invalid('on', 'it is missing: say which events');
  return { follows, selector, target, enabled, policy: policyOf(RETRIES), ...asked };
}

function policyOf(retryLimit: number): RetryPolicy {
  return { ...DEFAULT_RETRIES, retryStrategy: retryLimit === 0 ? 'NONE' : 'EXPONENTIAL', retryLimit };
}

function invalid(field: string, reason: string): MusterError {
  return new MusterError('invalid_field', { field, reason });
}

function checkTarget(target: string, follows: Asked['follows'], privateTargets: boolean): void {
  if (follows === 'events' && mailAddress(target) !== null) return;
  if (!URL.canParse(target) || !/^https?:/i.test(target)) {
    throw invalid('to', `must be an http or https URL${follows === 'events' ? ', or an e-mail address' : ''}`);
  }
  if (privateTargets) return;
  // Names are looked at when they are resolved, at each delivery.
  try {
    checkHost(new URL(target));
  } catch (error) {
    throw invalid('to', error instanceof Error ? error.message : String(error));
  }
}
