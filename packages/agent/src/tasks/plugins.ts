import type { OfferedPlugin } from '@muster/wire';
import type { AgentConfig } from '../config.js';
import type { RunLimits } from '../execution/run-limits.js';
import { MODULE_MEMORY, MODULE_RUNS } from '../limits.js';
import type { PluginConfig } from './config.js';

/** What all plugins say of how their tasks run. */
interface PluginBase {
  readonly name: string;
  /** Null: as the agent. */
  readonly user: string | null;
  /** What the node's owner gives its tasks. */
  readonly environment: Readonly<Record<string, string>>;
}

/** A plugin whose tasks are processes of their own. */
export type ProgramPlugin = PluginBase & {
  readonly limits: RunLimits | null;
  readonly tempDir: string | null;
} & (
    | { readonly contract: 'default'; readonly program: string; readonly config: string | null }
    | { readonly contract: 'nomongo'; readonly program: string }
    | {
        readonly contract: 'simple';
        readonly program: string;
        readonly args: readonly string[];
        readonly stdin: boolean;
      }
    | { readonly contract: 'perl'; readonly plugin: string; readonly lib: readonly string[] }
  );

export interface ModulePlugin extends PluginBase {
  readonly contract: 'module';
  readonly file: string;
  readonly processes: number;
  readonly runs: number;
  readonly memory: number;
}

export type Plugin = ProgramPlugin | ModulePlugin;

/** What the node offers, as its configuration is now. */
export interface Offer {
  readonly max: number;
  readonly activequeues: readonly string[];
  readonly ignorequeues: readonly string[];
  readonly plugins: ReadonlyMap<string, OfferedRun>;
}

export interface OfferedRun {
  readonly plugin: Plugin;
  /** Null: as many as the node runs. */
  readonly concurrency: number | null;
  /** Null: no limit but that of the task. */
  readonly timeoutMs: number | null;
}

/** `cores`: of the machine. */
export function offerOf({ tasks, environment }: Pick<AgentConfig, 'tasks' | 'environment'>, cores: number): Offer {
  if (tasks === undefined) return { max: 0, activequeues: [], ignorequeues: [], plugins: new Map() };
  const { max = cores, activequeues, ignorequeues } = tasks;
  const plugins = Object.entries(tasks.plugins).map(([name, config]): [string, OfferedRun] => {
    const timeoutMs = config.timeout === undefined ? null : config.timeout * 1000;
    return [name, { plugin: pluginOf(name, config, environment), concurrency: config.concurrency ?? null, timeoutMs }];
  });
  return { max, activequeues, ignorequeues, plugins: new Map(plugins) };
}

export function offeredPlugins(offer: Offer): OfferedPlugin[] {
  return [...offer.plugins].map(([name, { plugin, concurrency }]) => ({
    name,
    contract: plugin.contract,
    concurrency,
  }));
}

function pluginOf(name: string, config: PluginConfig, common: Readonly<Record<string, string>>): Plugin {
  const base = { name, user: config.user ?? null, environment: { ...common, ...config.environment } };
  if (config.module !== undefined) {
    const { runs = MODULE_RUNS, memory = MODULE_MEMORY } = config.recycle ?? {};
    return { ...base, contract: 'module', file: config.module, processes: config.processes ?? 1, runs, memory };
  }
  const process = { ...base, limits: config.limits ?? null, tempDir: config.temp_dir ?? null };
  if (config.perl !== undefined) return { ...process, contract: 'perl', plugin: config.perl, lib: config.lib ?? [] };
  // Checked when the file was read: it is one of the three.
  const program = config.program ?? '';
  if (config.args !== undefined) {
    return { ...process, contract: 'simple', program, args: config.args, stdin: config.stdin ?? false };
  }
  if (config.type === 'nomongo') return { ...process, contract: 'nomongo', program };
  return { ...process, contract: 'default', program, config: config.config ?? null };
}
