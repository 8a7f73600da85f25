import { MusterError } from '../errors.js';
import { isPrincipalKind, PRINCIPAL_KINDS, type PrincipalKind } from '../event/access.js';

/** @throws MusterError unless a relay speaks for somebody of its own organization. */
export function checkOnBehalf(command: string, principal: string, org: string, relay: boolean): void {
  if (!relay) throw new MusterError('stomp_relays_only', { what: `the header 'on-behalf' of ${command}` });
  if (principal.startsWith(`${org}/`) && principal.length > org.length + 1) return;
  const reason = `must be ${org}/NAME: a relay speaks for its own organization`;
  throw new MusterError('stomp_header_value', { command, header: 'on-behalf', reason });
}

/** The header `on-behalf-kind`: a user may have the name of a node or a service. @throws MusterError */
export function onBehalfKind(command: string, text: string | undefined): PrincipalKind {
  if (text === undefined) throw new MusterError('stomp_missing_header', { command, header: 'on-behalf-kind' });
  if (isPrincipalKind(text)) return text;
  throw new MusterError('stomp_header_value', {
    command,
    header: 'on-behalf-kind',
    reason: `must be one of ${PRINCIPAL_KINDS.join(', ')}`,
  });
}
