import { type ScratchNode, scratchNode } from '../../packages/broker/test/scratch-node.js';
import { Cluster } from './cluster.js';
import { JobProcesses } from './job-processes.js';
import { PrivatePostgres } from './private-postgres.js';

/** A server that has no workers, on a PostgreSQL and a RabbitMQ of their own, and what workers and readers beside it need. */
export class JobsApart {
  readonly postgres: PrivatePostgres;
  readonly rabbitmq: ScratchNode;
  readonly cluster: Cluster;
  readonly processes: JobProcesses;

  private constructor(postgres: PrivatePostgres, rabbitmq: ScratchNode, cluster: Cluster) {
    this.postgres = postgres;
    this.rabbitmq = rabbitmq;
    this.cluster = cluster;
    const shared = ['--database-url', postgres.url, '--broker-url', rabbitmq.url, '--data-dir', cluster.dataDir];
    this.processes = new JobProcesses(cluster, shared);
  }

  static async start(): Promise<JobsApart> {
    const [postgres, rabbitmq] = await Promise.all([PrivatePostgres.start(), scratchNode()]);
    try {
      const flags = ['--broker-url', rabbitmq.url, '--no-workers'];
      return new JobsApart(postgres, rabbitmq, await Cluster.start({ database: postgres, flags }));
    } catch (error) {
      await Promise.all([postgres.release(), rabbitmq.drop()]);
      throw error;
    }
  }

  harm(): readonly string[] {
    return [...this.cluster.harm(), ...this.processes.harm()];
  }

  async stop(): Promise<void> {
    await this.processes.stop();
    await this.cluster.stop();
    await Promise.all([this.postgres.release(), this.rabbitmq.drop()]);
  }
}
