import type { ActiveStatus } from '../status.js';
import { archive, cleanUp } from './archiving.js';
import type { Phase } from './context.js';
import { watchQueued, watchRunning } from './monitoring.js';
import { stageApp } from './staging-app.js';
import { processInputs, staged, stageInputs } from './staging-inputs.js';
import { submit } from './submitting.js';
import { validate } from './validate.js';

/** What is done for a job of each status: by the status alone, so that it goes on anywhere (sheet §3.4). */
export const PHASE_OF: Readonly<Record<ActiveStatus, Phase>> = {
  PENDING: validate,
  PROCESSING_INPUTS: processInputs,
  STAGING_INPUTS: stageInputs,
  STAGED: staged,
  STAGING_JOB: stageApp,
  SUBMITTING: submit,
  QUEUED: watchQueued,
  RUNNING: watchRunning,
  CLEANING_UP: cleanUp,
  ARCHIVING: archive,
};
