import { MusterError } from '../errors.js';
import { checkEventSelector } from '../events/check-selector.js';
import { checkHost } from '../outbound/addresses.js';
import { mailAddress } from '../outbound/mail.js';
import { DEFAULT_RETRIES, type RetryPolicy } from '../outbound/retries.js';
import type { Asked } from './types.js';

/** What may be said of a notification, as REST has it. */
export interface Fields {
  readonly on?: string;
  readonly to?: string;
  readonly retries?: number;
  readonly enabled?: boolean;
}

/** Retries unless said otherwise: the last comes about six hours after the first attempt. */
const RETRIES = 12;

/** @param privateTargets Whether targets may be at private addresses. @throws MusterError `invalid_field` */
export function readFields({ on, to, retries, enabled }: Fields, privateTargets: boolean): Partial<Asked> {
  if (on !== undefined) checkEventSelector('on', on);
  if (to !== undefined) checkTarget(to, privateTargets);
  return {
    ...(on !== undefined && { selector: on }),
    ...(to !== undefined && { target: to }),
    ...(retries !== undefined && { policy: policyOf(retries) }),
    ...(enabled !== undefined && { enabled }),
  };
}

/** A new one. @throws MusterError `invalid_field` */
export function readNew(fields: Fields & Required<Pick<Fields, 'on' | 'to'>>, privateTargets: boolean): Asked {
  const { on: selector, to: target, enabled = true } = fields;
  return { selector, target, enabled, policy: policyOf(RETRIES), ...readFields(fields, privateTargets) };
}

function policyOf(retryLimit: number): RetryPolicy {
  return { ...DEFAULT_RETRIES, retryStrategy: retryLimit === 0 ? 'NONE' : 'EXPONENTIAL', retryLimit };
}

function checkTarget(target: string, privateTargets: boolean): void {
  if (mailAddress(target) !== null) return;
  const invalid = (reason: string) => new MusterError('invalid_field', { field: 'to', reason });
  if (!URL.canParse(target) || !/^https?:/i.test(target)) {
    throw invalid('must be an http or https URL, or an e-mail address');
  }
  if (privateTargets) return;
  // Names are looked at when they are resolved, at each delivery.
  try {
    checkHost(new URL(target));
  } catch (error) {
    throw invalid(error instanceof Error ? error.message : String(error));
  }
}
