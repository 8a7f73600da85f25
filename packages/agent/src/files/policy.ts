import { createPublicKey, type KeyObject } from 'node:crypto';
import { verifyScript } from '@muster/signing';
import type { CommandOptions, ScriptOption } from '@muster/wire';
import type { AgentConfig } from '../config.js';
import { MusterError } from '../errors.js';
import { type AllowedPlace, placeOf } from './allowed-paths.js';

/** Which files of push jobs this node runs, takes and gives: its owner's decision, not the server's. */
export interface FilePolicy {
  /** Commands run on another machine, which has directories of its own. */
  readonly elsewhere?: true;
  /** Why the node refuses what a job brings or asks for; null: it does not. */
  refuse(options: CommandOptions): string | null;
  upload(dest: string): AllowedPlace | null;
  fetch(path: string): AllowedPlace | null;
}

type PolicyConfig = Pick<AgentConfig, 'allow_scripts' | 'allow_upload' | 'allow_fetch'>;

/** @throws MusterError `invalid_configuration` naming the entry. */
export function filePolicy(config: PolicyConfig, org: string): FilePolicy {
  const { allow_scripts: scripts, allow_upload: upload, allow_fetch: fetch } = config;
  const signers =
    typeof scripts === 'boolean' ? [] : scripts.map(({ name, key }) => ({ name, key: publicKey(name, key) }));
  const refuseScript = (script: ScriptOption): string | null => {
    if (scripts === true) return null;
    if (scripts === false) {
      return 'scripts are not allowed on this node; its owner allows them with allow_scripts in agent.yaml';
    }
    const who = signers.map(({ name }) => name).join(', ');
    const { signature } = script;
    if (signature === undefined) return `this node runs only scripts that are signed by ${who}; this one is not signed`;
    const signed = { org, sha256: script.sha256, args: script.args };
    if (signers.some(({ key }) => verifyScript(signed, signature, key))) return null;
    return `this node runs only scripts that are signed by ${who}; this one is signed with another key`;
  };
  const of = (patterns: readonly string[]) => (path: string) => placeOf(patterns, path);
  return {
    upload: of(upload),
    fetch: of(fetch),
    refuse({ script, uploads = [], fetch: path }) {
      const refused = script === undefined ? null : refuseScript(script);
      if (refused !== null) return refused;
      const outside = uploads.find(({ dest }) => placeOf(upload, dest) === null);
      if (outside !== undefined) {
        return `files may not be put at '${outside.dest}' on this node; its owner allows places with allow_upload in agent.yaml`;
      }
      if (path === undefined || placeOf(fetch, path) !== null) return null;
      return `'${path}' may not be fetched from this node; its owner allows files with allow_fetch in agent.yaml`;
    },
  };
}

function publicKey(name: string, pem: string): KeyObject {
  try {
    return createPublicKey(pem);
  } catch (cause) {
    const reason = `allow_scripts: the key of ${name} is no public key in PEM`;
    throw new MusterError('invalid_configuration', { reason }, { cause });
  }
}
