import { describe, expect, it } from 'vitest';
import { parseAgentConfig } from '../../src/config.js';
import { commandPolicy } from '../../src/execution/command-policy.js';
import { renamedVariables } from '../../src/execution/job-variables.js';
import { checkCommand } from '../../src/execution/prepare.js';
import { ENV_VARIABLES } from '../../src/limits.js';

const COMMANDS = { report: 'report', deploy: { command_line: 'deploy', allow_env: ['DEPLOY_*', 'LD_LIBRARY_PATH'] } };

async function refusal(env: Record<string, string>, config: Record<string, unknown> = {}, command = 'report') {
  const policy = commandPolicy(parseAgentConfig({ commands: COMMANDS, ...config }));
  const check = await checkCommand(policy, command, { env });
  return 'refused' in check ? check.refused : null;
}

/** By each of these somebody runs code of their own through a fixed command. */
const DANGEROUS = `
  BASH_ENV ENV BASH_FUNC_ls%% SHELLOPTS BASHOPTS PS4 PROMPT_COMMAND IFS PATH HOME ZDOTDIR
  LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT GLIBC_TUNABLES GCONV_PATH DYLD_INSERT_LIBRARIES
  PERL5OPT PERL5LIB PERLLIB PERL5DB PYTHONPATH PYTHONSTARTUP PYTHONHOME PYTHONINSPECT RUBYOPT RUBYLIB GEM_HOME
  NODE_OPTIONS NODE_PATH npm_config_script_shell JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH
  GIT_SSH_COMMAND GIT_CONFIG_COUNT GIT_EXTERNAL_DIFF SSH_ASKPASS RSYNC_RSH LESSOPEN PAGER EDITOR VISUAL MAKEFLAGS
  TAR_OPTIONS PHPRC LUA_INIT DOTNET_STARTUP_HOOKS OPENSSL_CONF AWKPATH MUSTER_RUN CHEF_PUSH_JOB_FILE
`
  .trim()
  .split(/\s+/);

describe('a variable that a job sets', () => {
  it('is refused unless the owner of the node allows it, with its name and the setting', async () => {
    expect(await refusal({ COLOR: 'blue' })).toBe(
      "environment variable 'COLOR' is not allowed on this node; its owner allows names with allow_env in this node's agent.yaml",
    );
    expect(await refusal({ COLOR: 'blue' }, { allow_env: ['COLOR'] })).toBeNull();
  });
  it('is refused also where any command may run', async () => {
    expect(await refusal({ COLOR: 'blue' }, { allow_any: true }, 'anything at all')).toContain("'COLOR'");
  });
  it('may be allowed by the beginning of its name', async () => {
    expect(await refusal({ DEPLOY_TO: 'x' }, { allow_env: ['DEPLOY_*'] })).toBeNull();
    expect(await refusal({ DEPLOYED: 'x' }, { allow_env: ['DEPLOY_*'] })).toContain("'DEPLOYED'");
    expect(await refusal({ Any_name9: 'x' }, { allow_env: ['*'] })).toBeNull();
  });
  it('may be allowed for one command alone', async () => {
    expect(await refusal({ DEPLOY_TO: 'x' }, {}, 'deploy')).toBeNull();
    expect(await refusal({ DEPLOY_TO: 'x' }, {}, 'report')).toContain("'DEPLOY_TO'");
  });
  it.each(DANGEROUS)('%s is not allowed by any pattern', async (name) => {
    const refused = await refusal(
      { [name]: 'x' },
      { allow_env: ['*', `${name.slice(0, 2)}*`, `${name.slice(0, 4)}*`] },
    );
    expect(refused).toContain(`'${name}' can change what a program runs`);
    expect(refused).toContain('allow_env');
  });
  it('that can change what a program runs is allowed by its full name', async () => {
    expect(await refusal({ LD_LIBRARY_PATH: '/opt/lib' }, {}, 'deploy')).toBeNull();
  });
  it('may not hold a function of a shell', async () => {
    expect(await refusal({ COLOR: '() { :; }; id' }, { allow_env: ['COLOR'] })).toContain(
      "'COLOR' holds a shell function",
    );
  });
  it('that no process can have is refused', async () => {
    for (const env of [{ '': 'x' }, { 'A=B': 'x' }, { 'A\0': 'x' }, { A: 'x\0' }])
      expect(await refusal(env, { allow_env: ['*'] })).not.toBeNull();
    const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`V${n}`, 'x']));
    expect(await refusal(many(ENV_VARIABLES), { allow_env: ['V*'] })).toBeNull();
    expect(await refusal(many(ENV_VARIABLES + 1), { allow_env: ['V*'] })).not.toBeNull();
  });
  it('with allowed_overwritable_env_vars is renamed instead, unless it is among those (sheet §6.6)', () => {
    const rules = { allowed: ['COLOR'], overwritable: ['LANG'] };
    expect(renamedVariables({ PATH: 'p', LANG: 'l', COLOR: 'c', BASH_ENV: 'b' }, rules)).toEqual({
      CHEF_PUSH_ENV_PATH: 'p',
      LANG: 'l',
      COLOR: 'c',
      CHEF_PUSH_ENV_BASH_ENV: 'b',
    });
  });
});

describe('the names that an owner allows', () => {
  it('are names or beginnings of them', () => {
    expect(() => parseAgentConfig({ allow_env: ['A_*', '*', 'b'] })).not.toThrow();
    for (const bad of ['A*B', 'A B', 'A=', '', '9A'])
      expect(() => parseAgentConfig({ allow_env: [bad] })).toThrow(/allow_env/);
  });
});
