import { systemClock } from '@muster/base';
import { SecretProviders } from '@muster/platform/secrets';

/** Of a server whose owner has configured none. */
export function noProviders(): SecretProviders {
  return new SecretProviders(new Map(), { clock: systemClock, privateTargets: false });
}
