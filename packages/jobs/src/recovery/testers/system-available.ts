import { blocked, clear, hopeless } from './answers.js';
import { findSystem } from './system-row.js';
import type { Tester } from './types.js';

/** The system `systemId` is enabled. */
export const systemAvailable: Tester = {
  types: ['DEFAULT_SYSTEM_AVAILABLE_TESTER'],
  async test({ orgId, parameters: { systemId = '' } }, { read }) {
    const system = await findSystem(read, orgId, systemId);
    if (system === null) return hopeless(`there is no system ${systemId} any more`);
    return system.enabled ? clear(`the system ${systemId} is enabled`) : blocked(`the system ${systemId} is disabled`);
  },
};
