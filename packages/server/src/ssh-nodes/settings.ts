import { type AgentConfig, type AgentSettings, commandPolicy, parseAgentConfig } from '@muster/agent/elsewhere';
import type { SshNode, SshNodePolicy } from '@muster/nodes';
import { MusterError } from '../errors.js';

/** As the agent of such a node would be configured. @throws MusterError `invalid_configuration` that names the key */
export function configOf(policy: SshNodePolicy): AgentConfig {
  return parseAgentConfig({ ...policy }, 'policy');
}

/** @throws MusterError `invalid_field` */
export function checkPolicy(policy: SshNodePolicy): void {
  try {
    const config = configOf(policy);
    commandPolicy(config);
    const locked = Object.entries(config.commands).find(([, entry]) => typeof entry === 'object' && 'lock' in entry);
    if (locked === undefined) return;
    throw invalid(`commands.${locked[0]}: lock needs an agent on that node`);
  } catch (error) {
    if (error instanceof MusterError && error.code === 'invalid_configuration')
      throw invalid(String(error.details.reason).replace(/^policy: /, ''));
    throw error;
  }
}

function invalid(reason: string): MusterError {
  return new MusterError('invalid_field', { field: 'policy', reason });
}

/** `dataDir`: where it keeps what a restart of the server is told from. */
export function settingsOf({ org, name, policy }: SshNode, dataDir: string): AgentSettings {
  return {
    config: configOf(policy),
    server: new URL('muster://this-server'),
    org: org.name,
    name,
    dataDir,
    keyFile: '',
    fileDir: dataDir,
    ca: null,
  };
}
