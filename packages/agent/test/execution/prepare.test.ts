import { describe, expect, it } from 'vitest';
import { parseAgentConfig } from '../../src/config.js';
import { commandPolicy } from '../../src/execution/command-policy.js';
import { checkCommand } from '../../src/execution/prepare.js';

describe('what prepare is refused for', () => {
  const anything = commandPolicy(parseAgentConfig({ allow_any: true }));
  const refusal = async (options: Parameters<typeof checkCommand>[2]) => {
    const check = await checkCommand(anything, 'true', options);
    return 'refused' in check ? check.refused : null;
  };

  it('nothing, when all is well', async () => expect(await refusal({ user: 'nobody', dir: '/tmp' })).toBeNull());
  it('an unknown user', async () => expect(await refusal({ user: 'nosuchuser' })).toContain('does not exist'));
  it('a missing directory', async () => expect(await refusal({ dir: '/no/such' })).toContain('does not exist'));
  it('a directory that is a file', async () =>
    expect(await refusal({ dir: '/etc/passwd' })).toContain('not a directory'));
  it('a file without prefix', async () => expect(await refusal({ file: 'x' })).toContain('invalid file'));
});
