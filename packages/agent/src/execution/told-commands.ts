import { type AllowedCommand, LIMITS, type NodeCommands, UPGRADE_COMMAND } from '@muster/wire';
import type { AgentConfig } from '../config.js';
import { patternOf } from './command-policy.js';

type Told = Pick<
  AgentConfig,
  'commands' | 'allow_any' | 'tell_commands' | 'allow_scripts' | 'allow_upload' | 'allow_fetch' | 'upgrade'
>;

/** As a node tells that its agent may be upgraded. */
const UPGRADE: AllowedCommand = { name: `${UPGRADE_COMMAND} VERSION`, pattern: `${UPGRADE_COMMAND} \\S+` };

/**
 * What the server is told of what this node allows, as much as one message takes; null: nothing, as its owner wants it. The server
 * shows it to people. What runs is decided here.
 */
export function toldCommands(config: Told): NodeCommands | null {
  if (!config.tell_commands) return null;
  const entries = Object.entries(config.commands);
  const list: AllowedCommand[] = config.upgrade === undefined ? [] : [UPGRADE];
  let bytes = 0;
  let told = 0;
  for (const [name, entry] of entries) {
    const command = { name, pattern: patternOf(name, entry) };
    const size = Buffer.byteLength(JSON.stringify(command));
    const tooLong = [name, command.pattern ?? ''].some((text) => Buffer.byteLength(text) > LIMITS.commandNameBytes);
    if (tooLong || list.length >= LIMITS.commands || bytes + size > LIMITS.commandsBytes) continue;
    bytes += size;
    told += 1;
    list.push(command);
  }
  const { allow_scripts: scripts } = config;
  return {
    list,
    omitted: entries.length - told,
    any: config.allow_any,
    scripts: scripts === true ? 'any' : scripts === false ? 'none' : 'signed',
    uploads: config.allow_upload.length > 0,
    fetches: config.allow_fetch.length > 0,
  };
}
