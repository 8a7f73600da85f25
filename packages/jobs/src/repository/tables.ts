import type { Generated } from 'kysely';
import type { RemoteOutcome, Status } from '../status.js';
import type { Wanted } from '../types.js';

/** The tables of jobs. */
declare module '@muster/store' {
  interface Schema {
    jobs: {
      uuid: string;
      org_id: string;
      tenant: string;
      name: string;
      owner: string;
      roles: string | null;
      /** The submission queue, whole. */
      queue: string;
      status: Status;
      resume_at: string | null;
      condition: string | null;
      last_message: string;
      accepted: number;
      created: number | null;
      ended: number | null;
      last_updated: number;
      system_id: string;
      app_id: string;
      app_uuid: string;
      work_path: string | null;
      archive: number;
      archive_on_app_error: number;
      archive_path: string | null;
      archive_system: string | null;
      node_count: number;
      processors_per_node: number;
      memory_mb: number;
      max_seconds: number;
      /** JSON. */
      inputs: string;
      parameters: string;
      request: string;
      remote_job_id: string | null;
      scheduler_job_id: string | null;
      remote_queue: string | null;
      remote_submitted: number | null;
      remote_started: number | null;
      remote_ended: number | null;
      remote_outcome: RemoteOutcome | null;
      exit_code: number | null;
      remote_condition: string | null;
      remote_detail: string | null;
      submit_retries: Generated<number>;
      status_checks: Generated<number>;
      failed_checks: Generated<number>;
      last_check: number | null;
      blocked_count: Generated<number>;
      visible: Generated<number>;
      /** What somebody asks of it, until whoever has it has done it. */
      wanted: Wanted | null;
      wanted_by: string | null;
      /** Uuid of the worker that has it, or had it last. */
      worker: string | null;
      epoch: Generated<number>;
      /** How many subscriptions to what happens to it were ever made. */
      subscriptions: Generated<number>;
      idempotency_key: string | null;
      /** 1: it was run by another system, and is only read. */
      foreign_job: Generated<number>;
    };
    /** What happened to a job, oldest first. */
    job_history: {
      uuid: string;
      /** Later ones are greater; `0`: that it was accepted. */
      id: string;
      event: string;
      status: string;
      at: number;
      by: string;
      description: string;
      /** Where the request came from that did it; null: no request did. */
      address: string | null;
    };
    job_permissions: { uuid: string; username: string; permission: string; updated: number };
    /** Jobs that were told to be refused although their message may have been stored: no worker takes them. */
    job_refusals: { uuid: string; at: number };
    job_queues: {
      uuid: string;
      org_id: string;
      name: string;
      priority: number;
      filter: string;
      created: number;
      last_updated: number;
    };
    job_systems: {
      id: string;
      uuid: string;
      org_id: string;
      name: string;
      type: string;
      enabled: number;
      is_default: number;
      owner: string;
      /** `System` without what are columns, JSON. */
      definition: string;
      /** Sealed: keys and passwords never stand in the clear. */
      secret: Uint8Array | null;
      created: number;
      last_updated: number;
    };
    job_apps: {
      uuid: string;
      org_id: string;
      /** `NAME-VERSION`. */
      app_id: string;
      enabled: number;
      is_public: number;
      owner: string;
      /** JSON. */
      definition: string;
      created: number;
      last_updated: number;
    };
    job_workers: {
      uuid: string;
      org_id: string;
      name: string;
      host: string;
      queue: string;
      slots: number;
      state: 'running' | 'quiescing' | 'suspended' | 'stopped';
      started: number;
      version: string;
      /** 1: it was told that nothing is heard of it any more. */
      lost: Generated<number>;
    };
    job_recovery: {
      /** Hash of organization, tester and its parameters: jobs with equal ones wait together. */
      id: string;
      org_id: string;
      condition: string;
      tester: string;
      /** JSON, keys sorted. */
      tester_parameters: string;
      policy: string;
      policy_parameters: string;
      /** Tests that it did not pass since `created`. */
      attempts: Generated<number>;
      /** What the tester said last. */
      last_answer: string | null;
      /** 0: the reader has not seen it yet. */
      next_attempt: Generated<number>;
      /** The clock of its policy runs from here: since when its jobs are blocked without having come on. */
      created: Generated<number>;
      /** When a job joined it last. */
      last_updated: number;
    };
    job_blocked: {
      uuid: string;
      recovery_id: string;
      org_id: string;
      success_status: Status;
      message: string;
      created: number;
      /**
       * `waiting`: the job is BLOCKED. `releasing`: its status is what it should be, and its message may not be published yet.
       * `killing`: it was stopped or has failed, and what runs of it on its system may not have ended yet.
       */
      state: 'waiting' | 'releasing' | 'killing';
    };
    job_notifications: {
      id: string;
      uuid: string;
      org_id: string;
      event: string;
      url: string;
      persistent: number;
      /** `RetryPolicy`, JSON. */
      policy: string;
      status: 'ACTIVE' | 'COMPLETE' | 'FAILED' | 'INACTIVE';
      created: number;
    };
    /** Messages that could not be routed, or were rejected: kept to be read, published again or dropped. */
    job_stray_messages: {
      id: string;
      kind: 'alternate' | 'dead-letter';
      org_id: string | null;
      exchange: string;
      routing_key: string;
      reason: string | null;
      body: Uint8Array;
      length: number;
      at: number;
    };
  }
}
