import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type Slurm, startSlurm } from '../../packages/jobs/test/systems/support/slurm.js';
import { type Sshd, startSshd } from '../../packages/platform/test/support/sshd.js';
import type { Cluster } from './cluster.js';

/** Where jobs run elsewhere, all of it real: a host by SSH, and Slurm by SSH. */
export class JobHosts {
  readonly sshd: Sshd;
  readonly slurm: Slurm;

  private constructor(sshd: Sshd, slurm: Slurm) {
    this.sshd = sshd;
    this.slurm = slurm;
  }

  static async start(): Promise<JobHosts> {
    const [sshd, slurm] = await Promise.all([startSshd(), startSlurm()]);
    return new JobHosts(sshd, slurm);
  }

  /** Makes the systems `host` and `hpc`, with folders of their own in the cluster's. @returns their names */
  async register(cluster: Cluster): Promise<readonly string[]> {
    const { host, port, user, hostKey } = this.sshd.system;
    const key = join(cluster.dir, 'key');
    writeFileSync(key, this.sshd.privateKey, { mode: 0o600 });
    const login = ['--type', 'ssh', '--host', host, '--port', `${port}`, '--user', user, '--key', key];
    const batch = ['--scheduler', 'slurm', '--env', `SLURM_CONF=${this.slurm.environment.SLURM_CONF}`];
    for (const [name, more] of Object.entries({ host: [], hpc: batch })) {
      const root = join(cluster.dir, name);
      mkdirSync(root);
      const words = ['system', 'create', name, ...login, '--host-key', hostKey, '--root', root, ...more];
      const { code, stdout, stderr } = await cluster.muster(...words);
      expect(code, `muster ${words.join(' ')}\n${stdout}${stderr}`).toBe(0);
    }
    return ['host', 'hpc'];
  }

  async remove(): Promise<void> {
    await Promise.all([this.sshd.remove(), this.slurm.remove()]);
  }
}
